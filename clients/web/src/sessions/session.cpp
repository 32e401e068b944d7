// Sessions of browsers: who is signed in, by which connection, and for how long.
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

// Its connection closes when the last request that has it is done.
void Sessions::forget_ended(Clock::time_point now)
{
    for (auto at = sessions_.begin(); at != sessions_.end();)
        if (ending(*at->second, now)) {
            at->second->is_ended = true;
            at = sessions_.erase(at);
        } else {
            ++at;
        }
}

void Sessions::forget_least_used()
{
    const auto least = std::min_element(
        sessions_.begin(), sessions_.end(), [](const auto &one, const auto &other) {
            return one.second->used.load() < other.second->used.load();
        });
    least->second->is_ended = true;
    sessions_.erase(least);
}

bool Sessions::is_full()
{
    const std::lock_guard lock(mutex_);
    forget_ended(Clock::now());
    return sessions_.size() >= most_;
}

void Sessions::sweep()
{
    const std::lock_guard lock(mutex_);
    forget_ended(Clock::now());
}

std::shared_ptr<Session> Sessions::start(Identity identity, std::shared_ptr<Link> link)
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
    if (is_service_ && sessions_.size() >= most_)
        forget_least_used();
    if (sessions_.size() >= most_)
        return nullptr;
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
    session->is_ended = true;
    const std::lock_guard lock(mutex_);
    sessions_.erase(session->id);
}

}  // namespace hipq::web
