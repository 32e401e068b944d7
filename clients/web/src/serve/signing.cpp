// Signing in and out, live figures, health and metrics: calls that hipq-web answers itself.
#include <cstdio>
#include <string_view>

#include "database/statements.hpp"
#include "metrics/open_metrics.hpp"
#include "serve/web.hpp"

namespace hipq::web {

namespace {

constexpr std::size_t longest_name = 63;

// The one row of a list: [{...}].
std::string members_of(const std::string &rows)
{
    return rows.substr(2, rows.size() - 4);
}

Identity identity_of(Link &link)
{
    const std::string rows = link.rows(statements::identity);
    const nlohmann::json row = nlohmann::json::parse(rows).at(0);
    return {row.at("role"), row.at("may_monitor"), members_of(rows)};
}

bool says(const DatabaseError &error, const char *words)
{
    return std::string_view(error.what()).find(words) != std::string_view::npos;
}

// The message for strangers: whether a role exists, and where the server is, is only in the log.
Problem sign_in_problem(const DatabaseError &error)
{
    if (says(error, "authentication failed") || says(error, "does not exist") ||
        says(error, "no PostgreSQL user name") || says(error, "not permitted to log in"))
        return {401, "the role or the password is wrong"};
    if (error.sqlstate == "28000")
        return {403, error.what(), error.hint};
    return {503, "the database cannot be reached, or takes no connection",
            "The log of hipq-web says what it answered."};
}

}  // namespace

std::string Web::describe(const Session &session) const
{
    return "{\"signed_in\":true," + session.identity.json + ",\"csrf\":\"" + session.csrf +
           "\",\"read_only\":" + (options_.is_service ? "true" : "false") +
           ",\"service\":" + (options_.is_service ? "true" : "false") + "}";
}

std::string Web::describe_nobody() const
{
    return std::string("{\"signed_in\":false,\"service\":") +
           (options_.is_service ? "true" : "false") + "}";
}

// All viewers of the service share one role. Without a proxy they share one address.
Holders Web::holders_of(const std::string &role, const httplib::Request &request) const
{
    return {options_.is_service || role.empty() ? "" : "role " + role,
            options_.origin.empty() ? "" : "from " + guard_.sender(request)};
}

std::string Web::tell_session(Call &call)
{
    if (call.session)
        return describe(*call.session);
    if (!options_.is_service)
        return describe_nobody();
    return open_session(call, identity_of(*service_), service_);
}

std::string Web::open_session(Call &call, Identity identity, std::shared_ptr<Link> link)
{
    Holders holders = holders_of(identity.role, call.request);
    const std::shared_ptr<Session> session =
        sessions_.start(std::move(identity), std::move(link), std::move(holders));
    if (!session)
        throw Problem(503, "as many are signed in as may be",
                      "One role, and one address, gets half of the places. Sign out elsewhere, or "
                      "have hipq-web started with a higher --max-sessions.");
    call.response.set_header("Set-Cookie", guard_.cookie(signer_.sign(session->id)));
    return describe(*session);
}

// Counts the attempt before it asks the server, so that many parallel attempts do not evade the
// limit.
void Web::limit_tries(const std::string &role, const std::string &sender)
{
    // A sender over its limit does not count against the role.
    auto wait = tries_of_sender_.take(sender);
    if (wait.count() == 0)
        wait = tries_of_role_.take(role);
    if (wait.count() == 0)
        return;
    Problem problem(429, "too many tries to sign in",
                    "Wait " + std::to_string(wait.count()) + " s.");
    problem.retry_after = static_cast<int>(wait.count());
    throw problem;
}

std::string Web::sign_in(Call &call)
{
    guard_.check_origin(call.request);
    if (options_.is_service)
        throw Problem(403, "nobody signs in here: hipq-web shows what one role sees");
    call.body = object_of(call.request.body);
    const auto role = call.text("role");
    const auto password = call.text("password");
    if (!role || !password)
        throw Problem(400, "role and password are needed");
    // Longer than any PostgreSQL name: it would fill the memory of attempts, and the log.
    if (role->size() > longest_name)
        throw Problem(400, "no role has a name of more than 63 bytes");
    const std::string sender = guard_.sender(call.request);
    limit_tries(*role, sender);
    if (sessions_.is_full())
        throw Problem(503, "as many are signed in as may be", "Try again later.");
    const auto link = std::make_shared<Link>(connect_as({*role, *password}, sender));
    Identity identity = identity_of(*link);
    tries_of_role_.give_back(*role);
    tries_of_sender_.give_back(sender);
    // The previous session ends: its id must not remain valid beside the new one.
    if (call.session)
        sessions_.end(call.session);
    return open_session(call, std::move(identity), link);
}

std::unique_ptr<Connection> Web::connect_as(const Credentials &who, const std::string &sender)
{
    try {
        return std::make_unique<Connection>(options_.conninfo, who, false);
    } catch (const DatabaseError &error) {
        std::fprintf(stderr, "hipq-web: %s could not sign in from %s: %s\n",
                     quoted(who.role).c_str(), sender.c_str(), error.what());
        throw sign_in_problem(error);
    }
}

std::string Web::sign_out(Call &call)
{
    require_session(call);
    require_token(call);
    sessions_.end(call.session);
    hub_.nudge();
    call.response.set_header("Set-Cookie", guard_.cookie(""));
    return describe_nobody();
}

void Web::stream(Call &call)
{
    const std::shared_ptr<Session> session = call.session;
    const Places::Place place = hub_.place_for(*session);
    const std::shared_ptr<Poller> poller = place ? hub_.join(session) : nullptr;
    if (!poller)
        throw Problem(503, "as many look at live figures as may do",
                      "One role, and one address, gets half of the places. Try again later.");
    call.response.set_header("X-Accel-Buffering", "no");
    call.response.set_chunked_content_provider(
        "text/event-stream",
        [poller, session, seen = std::uint64_t{0}](std::size_t, httplib::DataSink &sink) mutable {
            const News news = poller->wait(*session, seen);
            std::string text = ": still here\n\n";
            if (news.kind == News::Kind::overview)
                text = "event: overview\ndata: " + news.text + "\n\n";
            else if (news.kind == News::Kind::end)
                text = "event: bye\ndata: " + object({{"reason", quoted(news.text)}}) + "\n\n";
            if (!sink.write(text.data(), text.size()))
                return false;
            if (news.kind == News::Kind::end)
                sink.done();
            return true;
        },
        [this, session, place](bool) { hub_.leave(session); });
}

std::string Web::health()
{
    if (options_.is_service)
        service_->rows("SELECT 1 AS one");
    return "\"ok\"";
}

void Web::tell_metrics(httplib::Response &response)
{
    if (!options_.is_service)
        throw Problem(404, "there are no metrics without --service",
                      "Start another hipq-web with --service and a role of pg_monitor.");
    response.set_content(metrics_.text(), metrics::content_type);
}

}  // namespace hipq::web
