// The server of hipq-web: routes calls, and turns exceptions into errors.
#include "serve/web.hpp"

#include <cstdio>

#include "database/statements.hpp"
#include "metrics/open_metrics.hpp"

namespace hipq::web {

namespace {

void fail(httplib::Response &response, int status, const std::string &json)
{
    response.status = status;
    response.set_content(json, "application/json");
}

}  // namespace

Web::Web(Options options)
    : options_(std::move(options)), guard_(options_), files_(options_.page), sessions_(options_),
      hub_(sessions_), metrics_(options_.conninfo), server_([this] { hub_.stop(); })
{
    service_ = std::make_shared<Link>(
        [this] { return std::make_unique<Connection>(options_.conninfo, Credentials{}, true); });
    set_up_server();
    set_up_routes();
}

int Web::bind()
{
    const bool is_bound = options_.port == 0
                              ? (options_.port = server_.bind_to_any_port(options_.host)) > 0
                              : server_.bind_to_port(options_.host, options_.port);
    if (!is_bound)
        throw std::runtime_error("port " + std::to_string(options_.port) + " of " + options_.host +
                                 " is not to be had: " + std::strerror(errno));
    server_.lengthen_line();
    return options_.port;
}

void Web::serve()
{
    server_.listen_after_bind();
    is_over_ = true;
}

// Before it listens, cpp-httplib ignores a stop.
void Web::stop()
{
    while (!server_.is_running() && !is_over_)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    server_.stop();
    hub_.stop();
    server_.end_waits();
}

void Web::sweep()
{
    sessions_.sweep();
    hub_.nudge();
}

void Web::set_up_server()
{
    server_.set_tcp_nodelay(true);
    server_.set_post_routing_handler([this](const httplib::Request &, httplib::Response &response) {
        guard_.add_headers(response);
    });
    server_.set_error_handler([](const httplib::Request &request, httplib::Response &response) {
        if (response.body.empty())
            fail(response, response.status,
                 error_json(Problem(response.status,
                                    "there is no " + request.method + " " + request.path)));
    });
}

void Web::set_up_routes()
{
    const auto with_session = [this](std::string (Web::*work)(Call &)) {
        return [this, work](const httplib::Request &request, httplib::Response &response) {
            answer(request, response, [this, work](Call &call) { return (this->*work)(call); });
        };
    };
    server_.Get("/api/session", with_session(&Web::tell_session));
    server_.Post("/api/sign-in", with_session(&Web::sign_in));
    server_.Post("/api/sign-out", with_session(&Web::sign_out));
    server_.Get("/api/events",
                [this](const httplib::Request &request, httplib::Response &response) {
                    answer(request, response, [this](Call &call) {
                        require_session(call);
                        stream(call);
                        return std::string();
                    });
                });
    server_.Get("/healthz", [this](const httplib::Request &request, httplib::Response &response) {
        answer(request, response, [this](Call &) { return health(); });
    });
    server_.Get("/metrics", [this](const httplib::Request &request, httplib::Response &response) {
        answer(request, response, [this](Call &call) {
            tell_metrics(call.response);
            return std::string();
        });
    });
    for (const auto &routes :
         {list_routes(), job_routes(), graph_routes(), action_routes(), dead_letter_routes()})
        for (const Route &route : routes)
            add(route);
    server_.Get("/(?!api/).*",
                [this](const httplib::Request &request, httplib::Response &response) {
                    answer(request, response, [this](Call &call) {
                        files_.serve(call.request, call.response);
                        return std::string();
                    });
                });
}

void Web::add(const Route &route)
{
    const auto handler = [this, route](const httplib::Request &request,
                                       httplib::Response &response) {
        answer(request, response, [&](Call &call) {
            require_session(call);
            if (route.kind != Route::Kind::look)
                require_token(call);
            if (route.kind == Route::Kind::action && call.is_read_only)
                throw Problem(403, "here one can only look");
            return route.handler(call);
        });
    };
    if (route.kind == Route::Kind::look)
        server_.Get(route.pattern, handler);
    else
        server_.Post(route.pattern, handler);
}

// Does the work of a request. Its result is JSON; empty: the work has already answered.
void Web::answer(const httplib::Request &request, httplib::Response &response, const Answer &work)
{
    try {
        guard_.check_host(request);
        Call call{request, response, session_of(request), options_.is_service, nullptr};
        const auto place =
            requests_.take(call.session ? call.session->holders : holders_of("", request));
        if (!place)
            throw Problem(503, "hipq-web works on as many requests as it can",
                          "One role, and one address, gets part of the places. Try again.");
        const std::string json = work(call);
        if (!json.empty())
            response.set_content(json, "application/json");
    } catch (const Problem &problem) {
        if (problem.retry_after > 0)
            response.set_header("Retry-After", std::to_string(problem.retry_after));
        fail(response, problem.status, error_json(problem));
    } catch (const DatabaseError &error) {
        fail(response, status_of(error), error_json(error));
    } catch (const std::exception &error) {
        std::fprintf(stderr, "hipq-web: %s %s: %s\n", request.method.c_str(),
                     quoted(request.path).c_str(), error.what());
        fail(response, 500, error_json(Problem(500, "hipq-web failed; its log says how")));
    }
}

std::shared_ptr<Session> Web::session_of(const httplib::Request &request)
{
    const std::string id = signer_.verify(guard_.cookie_of(request));
    return id.empty() ? nullptr : sessions_.find(id);
}

void Web::require_session(Call &call)
{
    if (!call.session)
        throw Problem(401, "you are not signed in",
                      "Sign in; the session may have ended, or its connection was lost.");
}

// Reads the body, too. A page of another site can neither know the token nor set the header.
void Web::require_token(Call &call)
{
    if (!same_secret(call.request.get_header_value("X-CSRF-Token"), call.session->csrf))
        throw Problem(403, "the request has not the token of the session",
                      "Send the header X-CSRF-Token with \"csrf\" of /api/session.");
    guard_.check_origin(call.request);
    call.body = object_of(call.request.body);
}

}  // namespace hipq::web
