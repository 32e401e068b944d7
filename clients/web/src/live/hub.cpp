// Live figures: one statement a second for each role with viewers, none without viewers.
#include "live/hub.hpp"

#include <algorithm>
#include <cstdio>

#include "database/statements.hpp"

namespace hipq::web {

namespace {

constexpr std::chrono::seconds between_polls{1};
// Alerts are far more expensive than the figures.
constexpr std::chrono::seconds between_alerts{15};
// The longest time between two events: an event shows whether the viewer is still there.
constexpr std::chrono::seconds longest_silence{10};

std::string event_data(const std::string &figures, const std::string &queues, bool is_whole)
{
    return "{\"whole\":" + std::string(is_whole ? "true" : "false") + "," + figures +
           ",\"queues\":[" + queues + "]}";
}

void append(std::string &list, const std::string &item)
{
    list += (list.empty() ? "" : ",") + item;
}

}  // namespace

Poller::~Poller()
{
    stop();
    thread_.join();
}

void Poller::stop()
{
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    change_.notify_all();
}

void Poller::add(const std::shared_ptr<Session> &session)
{
    const std::lock_guard lock(mutex_);
    viewers_.push_back(session);
    change_.notify_all();
}

bool Poller::remove(const std::shared_ptr<Session> &session)
{
    const std::lock_guard lock(mutex_);
    if (const auto at = std::find(viewers_.begin(), viewers_.end(), session); at != viewers_.end())
        viewers_.erase(at);
    return viewers_.empty();
}

// The viewer whose connection runs the next statement.
std::shared_ptr<Session> Poller::somebody()
{
    for (const std::shared_ptr<Session> &session : viewers_)
        if (!session->is_ended && !session->link->is_lost())
            return session;
    return nullptr;
}

void Poller::run()
{
    std::unique_lock lock(mutex_);
    while (!is_stopped_) {
        const auto next = Clock::now() + between_polls;
        if (const std::shared_ptr<Session> session = somebody()) {
            lock.unlock();
            poll(*session);
            lock.lock();
            change_.wait_until(lock, next, [&] { return is_stopped_; });
        } else {
            change_.wait(lock, [&] { return is_stopped_ || somebody(); });
        }
    }
}

// The current alerts, for roles that may see them.
std::string Poller::alerts(const Session &session)
{
    if (!session.identity.may_monitor)
        return "";
    if (alerts_.empty() || Clock::now() - alerts_read_ >= between_alerts) {
        const Result result = session.link->run(statements::alert_counts);
        alerts_ = std::string(",\"alerts\":") + PQgetvalue(result.get(), 0, 0);
        alerts_read_ = Clock::now();
    }
    return alerts_;
}

void Poller::poll(const Session &session)
{
    try {
        const Result result = session.link->run(statements::overview);
        std::map<std::string, std::string> queues;
        std::string whole;
        std::string changes;
        for (int row = 0; row < PQntuples(result.get()); ++row) {
            const std::string name = PQgetvalue(result.get(), row, 0);
            if (name.empty())
                continue;
            const std::string text = PQgetvalue(result.get(), row, 1);
            const auto before = queues_.find(name);
            append(whole, text);
            if (before == queues_.end() || before->second != text)
                append(changes, text);
            queues.emplace(name, text);
        }
        const std::string figures = PQgetvalue(result.get(), 0, 1) + alerts(session);
        const std::lock_guard lock(mutex_);
        // A removed queue is only visible in the complete event.
        const bool lost_some = std::any_of(queues_.begin(), queues_.end(), [&](const auto &queue) {
            return !queues.contains(queue.first);
        });
        whole_ = event_data(figures, whole, true);
        changes_ = lost_some ? whole_ : event_data(figures, changes, false);
        queues_ = std::move(queues);
        ++number_;
    } catch (const DatabaseError &error) {
        if (trouble_ != error.what())
            std::fprintf(stderr, "hipq-web: the overview could not be read: %s\n", error.what());
        trouble_ = error.what();
    }
    change_.notify_all();
}

News Poller::wait(const Session &session, std::uint64_t &seen)
{
    std::unique_lock lock(mutex_);
    const auto until = Clock::now() + longest_silence;
    while (true) {
        if (is_stopped_)
            return {News::Kind::end, "hipq-web is shutting down"};
        if (const auto ending = sessions_.ending(session, Clock::now()))
            return {News::Kind::end, *ending};
        if (number_ != seen)
            break;
        if (change_.wait_until(lock, until) == std::cv_status::timeout)
            return {News::Kind::nothing, ""};
    }
    const bool missed_none = seen != 0 && number_ == seen + 1;
    seen = number_;
    return {News::Kind::overview, missed_none ? changes_ : whole_};
}

std::shared_ptr<Poller> Hub::join(const std::shared_ptr<Session> &session)
{
    const std::lock_guard lock(mutex_);
    if (is_stopped_)
        return nullptr;
    std::shared_ptr<Poller> &poller = pollers_[session->identity.role];
    if (!poller)
        poller = std::make_shared<Poller>(sessions_);
    poller->add(session);
    return poller;
}

void Hub::leave(const std::shared_ptr<Session> &session)
{
    std::shared_ptr<Poller> last;  // its thread is joined without the lock
    const std::lock_guard lock(mutex_);
    const auto found = pollers_.find(session->identity.role);
    if (found != pollers_.end() && found->second->remove(session)) {
        last = std::move(found->second);
        pollers_.erase(found);
    }
}

void Hub::nudge()
{
    const std::lock_guard lock(mutex_);
    for (const auto &[role, poller] : pollers_)
        poller->nudge();
}

void Hub::stop()
{
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    for (const auto &[role, poller] : pollers_)
        poller->stop();
}

}  // namespace hipq::web
