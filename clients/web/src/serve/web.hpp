// The server of hipq-web: sessions, calls of the interface, live figures, files.
#pragma once

#include "api/api.hpp"
#include "http/files.hpp"
#include "http/guard.hpp"
#include "http/server.hpp"
#include "live/hub.hpp"
#include "serve/metrics.hpp"
#include "sessions/rate_limit.hpp"
#include "sessions/secret.hpp"
#include "sessions/session.hpp"

namespace hipq::web {

class Web {
public:
    explicit Web(Options options);

    // Binds to the address. Returns the port. Throws std::runtime_error.
    int bind();
    // Serves until stop().
    void serve();
    // Whether it no longer serves, by request or after an error.
    bool is_over() const { return is_over_; }
    // Ends open requests. Another thread calls it.
    void stop();
    // Ends the sessions whose time is over.
    void sweep();

private:
    using Answer = std::function<std::string(Call &)>;

    void set_up_routes();
    void set_up_server();
    void add(const Route &route);
    void answer(const httplib::Request &request, httplib::Response &response, const Answer &work);
    std::shared_ptr<Session> session_of(const httplib::Request &request);
    void require_session(Call &call);
    void require_token(Call &call);

    std::string tell_session(Call &call);
    std::string sign_in(Call &call);
    std::string sign_out(Call &call);
    std::string open_session(Call &call, Identity identity, std::shared_ptr<Link> link);
    std::unique_ptr<Connection> connect_as(const Credentials &who, const std::string &sender);
    Holders holders_of(const std::string &role, const httplib::Request &request) const;
    void limit_tries(const std::string &role, const std::string &sender);
    std::string describe(const Session &session) const;
    std::string describe_nobody() const;
    void stream(Call &call);
    std::string health();
    void tell_metrics(httplib::Response &response);

    Options options_;
    Guard guard_;
    Files files_;
    Signer signer_;
    Sessions sessions_;
    Hub hub_;
    Places requests_{250, 100};  // in progress; live figures have their own places
    RateLimit tries_of_role_{10, 10};
    RateLimit tries_of_sender_{20, 20};
    std::shared_ptr<Link> service_;
    Metrics metrics_;
    Server server_;  // its requests end when hub_ does, also if the socket fails
    std::atomic<bool> is_over_{false};
};

}  // namespace hipq::web
