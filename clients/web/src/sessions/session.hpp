// Browser sessions: their roles, connections and lifetimes.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "database/link.hpp"
#include "options/options.hpp"
#include "sessions/places.hpp"

namespace hipq::web {

using Clock = std::chrono::steady_clock;

// What the page learns about the signed-in role, from the server when the connection was made.
struct Identity {
    std::string role;
    bool may_monitor;
    std::string json;  // members of an object, without braces
};

struct Session {
    std::string id;
    std::string csrf;
    Identity identity;
    std::shared_ptr<Link> link;
    Holders holders;
    Places::Place place;
    Clock::time_point started;
    std::atomic<Clock::time_point> used;
    std::atomic<bool> is_ended{false};
};

class Sessions {
public:
    explicit Sessions(const Options &options)
        : idle_(options.idle), lifetime_(options.lifetime), is_service_(options.is_service),
          places_(most(options), (most(options) + 1) / 2)
    {
    }

    // Makes a session. Null: the limit is reached, in all or for one of the holders. Sessions of
    // the service cost nothing, and any client can make them: at the limit the least recently used
    // one goes, of the same holders if they have any.
    std::shared_ptr<Session> start(Identity identity, std::shared_ptr<Link> link,
                                   Holders holders = {});

    // The session with this id, which now counts as used. Null: there is none, or its time is over.
    std::shared_ptr<Session> find(const std::string &id);

    void end(const std::shared_ptr<Session> &session);

    // Why it is over; none: it is not. The service's sessions end only by their lifetime.
    std::optional<std::string> ending(const Session &session, Clock::time_point now) const;

    // Whether there is no room for another session.
    bool is_full();

    // Ends expired sessions, and so closes their connections.
    void sweep();

private:
    static std::size_t most(const Options &options)
    {
        return static_cast<std::size_t>(options.is_service ? 10'000 : options.max_sessions);
    }
    void forget_ended(Clock::time_point now);
    void forget_least_used(const Holders &holders);
    static void end_it(Session &session);

    std::chrono::seconds idle_;
    std::chrono::seconds lifetime_;
    bool is_service_;
    Places places_;
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<Session>> sessions_;
};

}  // namespace hipq::web
