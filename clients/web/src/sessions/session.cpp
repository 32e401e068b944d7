// Browser sessions: their roles, connections and lifetimes.
#include "sessions/session.hpp"

#include <algorithm>

#include "sessions/secret.hpp"

namespace hipq::web {

std::optional<std::string> Sessions::ending(const Session &session, Clock::time_point now) const
{
    if (session.is_ended)
        return "signed out";
    if (session.link->is_lost())
        return "the connection to the server was lost";
    if (now - session.started >= lifetime_)
        return "the session was open for as long as one may be";
    if (!is_service_ && now - session.used.load() >= idle_)
        return "the session was not used for a while";
    return std::nullopt;
}

// Its place is free, even while a request uses it.
void Sessions::end_it(Session &session)
{
    session.is_ended = true;
    session.place.reset();
}

// Its connection closes when the last request that uses it is done.
void Sessions::forget_ended(Clock::time_point now)
{
    for (auto at = sessions_.begin(); at != sessions_.end();)
        if (ending(*at->second, now)) {
            end_it(*at->second);
            at = sessions_.erase(at);
        } else {
            ++at;
        }
}

void Sessions::forget_least_used(const Holders &holders)
{
    const auto is_before = [&](const auto &one, const auto &other) {
        const bool is_own = one.second->holders == holders;
        return is_own != (other.second->holders == holders)
                   ? is_own
                   : one.second->used.load() < other.second->used.load();
    };
    const auto least = std::min_element(sessions_.begin(), sessions_.end(), is_before);
    end_it(*least->second);
    sessions_.erase(least);
}

bool Sessions::is_full()
{
    const std::lock_guard lock(mutex_);
    forget_ended(Clock::now());
    return places_.is_full();
}

void Sessions::sweep()
{
    const std::lock_guard lock(mutex_);
    forget_ended(Clock::now());
}

std::shared_ptr<Session> Sessions::start(Identity identity, std::shared_ptr<Link> link,
                                         Holders holders)
{
    const Clock::time_point now = Clock::now();
    auto session = std::make_shared<Session>();
    session->id = random_token();
    session->csrf = random_token();
    session->identity = std::move(identity);
    session->link = std::move(link);
    session->started = now;
    session->used = now;
    const std::lock_guard lock(mutex_);
    forget_ended(now);
    session->place = places_.take(holders);
    if (!session->place && is_service_) {
        forget_least_used(holders);
        session->place = places_.take(holders);
    }
    if (!session->place)
        return nullptr;
    session->holders = std::move(holders);
    sessions_.emplace(session->id, session);
    return session;
}

std::shared_ptr<Session> Sessions::find(const std::string &id)
{
    const Clock::time_point now = Clock::now();
    const std::lock_guard lock(mutex_);
    forget_ended(now);
    const auto found = sessions_.find(id);
    if (found == sessions_.end())
        return nullptr;
    found->second->used = now;
    return found->second;
}

void Sessions::end(const std::shared_ptr<Session> &session)
{
    const std::lock_guard lock(mutex_);
    end_it(*session);
    sessions_.erase(session->id);
}

}  // namespace hipq::web
