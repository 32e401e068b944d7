// Actions on jobs, and pauses.
#include "api/api.hpp"
#include "api/many.hpp"
#include "database/statements.hpp"

namespace hipq::web {

namespace {

std::string cancel(const Call &call)
{
    return do_to_each(call, statements::cancel, {call.text("reason")},
                      "it has ended, or is just ending");
}

std::string retry(const Call &call)
{
    return do_to_each(call, statements::retry, {call.text("reason")});
}

std::string reschedule(const Call &call)
{
    const auto time = call.text("time");
    if (!time)
        throw Problem(400, "\"time\" is needed: when the job is to run");
    return do_to_each(call, statements::reschedule, {time});
}

// {"done": whether something changed}
std::string answer_of(const Result &result)
{
    return object({{"done", *PQgetvalue(result.get(), 0, 0) == 't' ? "true" : "false"}});
}

// The object to pause, as arguments of both functions.
Parameters paused(const Call &call)
{
    return {call.text("queue"), call.text("job_type"), call.text("throttle_key"),
            call.text("instance")};
}

std::string pause(const Call &call)
{
    Parameters parameters = paused(call);
    parameters.push_back(call.text("reason"));
    return answer_of(call.link().run(statements::pause, parameters));
}

std::string resume(const Call &call)
{
    return answer_of(call.link().run(statements::resume, paused(call)));
}

}  // namespace

std::vector<Route> action_routes()
{
    return {
        {Route::Kind::action, "/api/jobs/cancel", cancel},
        {Route::Kind::action, "/api/jobs/retry", retry},
        {Route::Kind::action, "/api/jobs/reschedule", reschedule},
        {Route::Kind::action, "/api/pauses", pause},
        {Route::Kind::action, "/api/pauses/resume", resume},
    };
}

}  // namespace hipq::web
