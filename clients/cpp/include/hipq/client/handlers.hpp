// The handlers of a worker: by job type, inside middleware, with data of the handler's own types.
#pragma once

#include "hipq/client/job.hpp"

#include <variant>

namespace hipq::client {

// What it returns is the result of the job, what it throws the error.
using Handler = std::function<Json(Job &)>;

// Wraps every handler: `next()` calls it, or the next middleware, and returns its result.
using Middleware = std::function<Json(Job &, const std::function<Json()> &next)>;

// How a handler has ended.
struct Failure {
    std::string error;
    bool retriable;
};
struct GivenBack {
    std::string delay;
};
struct Nothing {};  // the attempt is over
using Ending = std::variant<Json, Failure, GivenBack, Nothing>;

namespace detail {

template <typename Function, typename... Arguments>
Json json_of(Function &function, Arguments &...arguments)
{
    if constexpr (std::is_void_v<std::invoke_result_t<Function &, Arguments &...>>) {
        function(arguments...);
        return nullptr;
    } else {
        return function(arguments...);
    }
}

inline Json run_inside(const std::vector<Middleware> &middleware, std::size_t from,
                       const Handler &handler, Job &job)
{
    if (from == middleware.size())
        return handler(job);
    return middleware[from](job, [&] { return run_inside(middleware, from + 1, handler, job); });
}

}  // namespace detail

// Makes a handler of a function that takes a Job.
template <typename Function>
Handler handler_of(Function function)
{
    return [function = std::move(function)](Job &job) mutable {
        return detail::json_of(function, job);
    };
}

// Makes a handler of a function that takes the job's data as a type of its own, as nlohmann's
// from_json reads it, and the Job. A job whose data it cannot read fails for good.
template <typename Data, typename Function>
Handler typed_handler_of(Function function)
{
    return [function = std::move(function)](Job &job) mutable {
        std::optional<Data> data;
        try {
            data = job.data.template get<Data>();
        } catch (const std::exception &error) {
            throw Permanent(std::string("the job's data is not valid: ") + error.what());
        }
        return detail::json_of(function, *data, job);
    };
}

// Runs a handler, and says how that has ended.
inline Ending run_handler(const Handler &handler, const std::vector<Middleware> &middleware,
                          Job &job)
{
    try {
        return detail::run_inside(middleware, 0, handler, job);
    } catch (const AttemptOver &) {
        return Nothing{};
    } catch (const Release &release) {
        return GivenBack{release.delay()};
    } catch (const Permanent &error) {
        return Failure{error.what(), false};
    } catch (const std::exception &error) {
        return Failure{error.what(), true};
    } catch (...) {
        return Failure{"the handler threw what is no exception", true};
    }
}

}  // namespace hipq::client
