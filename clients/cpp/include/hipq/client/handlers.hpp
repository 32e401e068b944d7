// The handlers of a worker: by job type, with middleware and with data of the handler's own types.
#pragma once

#include "hipq/client/job.hpp"

#include <variant>

namespace hipq::client {

// Its return value is the result of the job, and its exception the error.
using Handler = std::function<Json(Job &)>;

// Wraps every handler: `next()` calls the handler or the next middleware, and returns its result.
using Middleware = std::function<Json(Job &, const std::function<Json()> &next)>;

// How a handler has ended; a handler for many jobs may return this for each of them.
struct GivenBack {
    std::string delay = "0";
};
struct Nothing {};  // the attempt is over
using Ending = std::variant<Json, Failure, GivenBack, Nothing>;

// Runs many jobs in one call, and returns for each, in this order, how it has ended. An exception
// applies to all of them. Middleware wraps single jobs, and does not wrap this handler.
using Jobs = std::vector<std::reference_wrapper<Job>>;
using BatchHandler = std::function<std::vector<Ending>(const Jobs &)>;

// A job with its data as a type of the handler.
template <typename Data>
struct Typed {
    Data data;
    Job &job;
};

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

template <typename Data>
Data data_of(const Job &job)
{
    try {
        return job.data.template get<Data>();
    } catch (const std::exception &error) {
        throw Permanent(std::string("the job's data is not valid: ") + error.what());
    }
}

// A function of many jobs returns nothing, results, or endings.
template <typename Function, typename Items>
std::vector<Ending> endings_of(Function &function, const Items &items)
{
    std::vector<Ending> endings(items.size(), Ending(Json()));
    if constexpr (std::is_void_v<std::invoke_result_t<Function &, const Items &>>) {
        function(items);
    } else {
        auto returned = function(items);
        if (returned.size() != items.size())
            throw std::runtime_error("the handler returned " + std::to_string(returned.size()) +
                                     " results for " + std::to_string(items.size()) + " jobs");
        std::move(returned.begin(), returned.end(), endings.begin());
    }
    return endings;
}

inline std::string text_of(const std::exception &error)
{
    const char *text = error.what();
    return text != nullptr ? text : "its text cannot be read";
}

// The ending for the exception that is being handled. Only the end of the attempt itself needs no
// answer.
inline Ending ending_of_exception(const Job &job)
{
    try {
        throw;
    } catch (const AttemptOver &) {
        if (job.is_over())
            return Nothing{};
        return Failure{"another job of its batch is over"};
    } catch (const Release &release) {
        return GivenBack{release.delay()};
    } catch (const RetryAfter &error) {
        return Failure{text_of(error), true, error.delay()};
    } catch (const Permanent &error) {
        return Failure{text_of(error), false};
    } catch (const std::exception &error) {
        return Failure{text_of(error)};
    } catch (...) {
        return Failure{"the handler threw what is no exception"};
    }
}

// The end of each job of a batch. An exception of the handler ends all of them.
template <typename Call>
std::vector<Ending> for_each(const Jobs &jobs, const Call &call)
{
    try {
        return call(jobs);
    } catch (...) {
        std::vector<Ending> endings;
        for (const Job &job : jobs)
            endings.push_back(ending_of_exception(job));
        return endings;
    }
}

}  // namespace detail

// Makes a handler from a function that takes a Job.
template <typename Function>
Handler handler_of(Function function)
{
    return [function = std::move(function)](Job &job) mutable {
        return detail::json_of(function, job);
    };
}

// Makes a handler from a function that takes the job's data as its own type, as nlohmann's
// from_json reads it, and the Job. A job with unreadable data fails for good.
template <typename Data, typename Function>
Handler typed_handler_of(Function function)
{
    return [function = std::move(function)](Job &job) mutable {
        const Data data = detail::data_of<Data>(job);
        return detail::json_of(function, data, job);
    };
}

// The same for functions that take many jobs.
template <typename Function>
BatchHandler batch_handler_of(Function function)
{
    return [function = std::move(function)](const Jobs &jobs) mutable {
        return detail::endings_of(function, jobs);
    };
}

template <typename Data, typename Function>
BatchHandler typed_batch_handler_of(Function function)
{
    return [function = std::move(function)](const Jobs &jobs) mutable {
        std::vector<Ending> endings(jobs.size(), Ending(Json()));
        std::vector<Typed<Data>> valid;
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            try {
                valid.push_back({detail::data_of<Data>(jobs[i]), jobs[i]});
                places.push_back(i);
            } catch (const Permanent &error) {
                endings[i] = Failure{error.what(), false};
            }
        }
        if (valid.empty())
            return endings;
        Jobs those;
        for (const Typed<Data> &one : valid)
            those.emplace_back(one.job);
        const std::vector<Ending> ended = detail::for_each(
            those, [&](const Jobs &) { return detail::endings_of(function, valid); });
        for (std::size_t i = 0; i < places.size(); ++i)
            endings[places[i]] = ended[i];
        return endings;
    };
}

// Runs a handler, and returns how it has ended.
inline Ending run_handler(const Handler &handler, const std::vector<Middleware> &middleware,
                          Job &job)
{
    try {
        return detail::run_inside(middleware, 0, handler, job);
    } catch (...) {
        return detail::ending_of_exception(job);
    }
}

// ... and one for many jobs.
inline std::vector<Ending> run_handler(const BatchHandler &handler, const Jobs &jobs)
{
    return detail::for_each(jobs, handler);
}

}  // namespace hipq::client
