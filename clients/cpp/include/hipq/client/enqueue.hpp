// Enqueues jobs in the caller's transaction, waits for their outcome, cancels them.
#pragma once

#include "hipq/client/arrays.hpp"
#include "hipq/client/batch.hpp"

namespace hipq::client {

// A job by its id, or by an object that has it: a Job in its handler, a Unique, an Enqueued.
class JobOrId {
public:
    JobOrId(std::int64_t id) : id_(id) {}
    JobOrId(const Batch &) = delete;
    template <typename Object>
    requires requires(const Object &job) { std::int64_t{job.id()}; }
    JobOrId(const Object &job) : id_(job.id()) {}
    template <typename Object>
    requires requires(const Object &job) { std::int64_t{job.id}; }
    JobOrId(const Object &job) : id_(job.id) {}
    std::int64_t id() const { return id_; }

private:
    std::int64_t id_;
};

// A list of jobs, or the ids that enqueue_many() returned.
class JobList {
public:
    JobList() = default;
    JobList(std::vector<std::int64_t> ids) : ids_(std::move(ids)) {}
    JobList(std::initializer_list<JobOrId> jobs) : ids_(std::in_place)
    {
        for (const JobOrId &job : jobs)
            ids_->push_back(job.id());
    }
    // None: no list was given, not even an empty one.
    Value array() const { return ids_ ? Value(number_array(*ids_)) : Value(); }

private:
    std::optional<std::vector<std::int64_t>> ids_;
};

// Options of enqueue() in addition to type and data; hipq.enqueue() has defaults for options that
// are not set. Times and durations are texts that PostgreSQL can read.
struct EnqueueOptions {
    Value queue = {};         // "instance.queue"; by default the queue that has the job type
    Value key = {};           // one unfinished job for each key
    Value on_duplicate = {};  // error, return, replace, merge, debounce, after or after_first
    Value scheduled_run_time = {};
    Value expires_time = {};
    std::optional<int> priority = {};
    Value timeout = {};
    Value queue_ttl = {};
    std::optional<int> max_retries = {};
    Value throttle_key = {};
    std::optional<double> throttle_factor = {};
    Value time_windows = {};
    Value worker = {};       // name of the only worker for the first attempt
    Value traceparent = {};  // the job's trace, in the format of W3C Trace Context
    JobList after = {};      // the jobs that it comes after: it waits for their ends
    // When it starts: when all of them have succeeded (succeeded, the default), when all have ended
    // (finished), when one has succeeded (any), or when one has failed (failed).
    Value after_policy = {};
    Value on_failure = {};            // when that cannot be met: fail (the default), skip or run
    std::optional<Batch> batch = {};  // the batch that it belongs to
    std::optional<Batch> after_batch = {};  // the batch that it comes after, with all its jobs
};

struct Unique {
    std::int64_t id;
    std::string action;  // inserted, returned, replaced, merged, debounced, after or sent
};

struct Outcome {
    std::string outcome;  // succeeded, failed, cancelled, expired or skipped
    Json result;
    std::optional<std::string> error;
};

namespace detail {

template <typename Number>
Value text_of(const std::optional<Number> &number)
{
    return number ? Value(Json(*number).dump()) : std::nullopt;
}

inline Value text_of(const std::optional<Batch> &batch)
{
    return batch ? Value(std::to_string(batch->id())) : std::nullopt;
}

// Hands the options that jobs of graphs have, too, to `target`: their names, types and values.
template <typename Target, typename Options>
Target &with_common_options(Target &target, const Options &options)
{
    return target.with("queue", "text", options.queue)
        .with("scheduled_run_time", "timestamptz", options.scheduled_run_time)
        .with("expires_time", "timestamptz", options.expires_time)
        .with("priority", "integer", text_of(options.priority))
        .with("timeout", duration_type, options.timeout)
        .with("queue_ttl", duration_type, options.queue_ttl)
        .with("max_retries", "integer", text_of(options.max_retries))
        .with("throttle_key", "text", options.throttle_key)
        .with("throttle_factor", "double precision", text_of(options.throttle_factor))
        .with("time_windows", "text", options.time_windows)
        .with("after_policy", "text", options.after_policy)
        .with("on_failure", "text", options.on_failure);
}

inline Call &with_options(Call &call, const EnqueueOptions &options)
{
    return with_common_options(call, options)
        .with("on_duplicate", "text", options.on_duplicate)
        .with("worker", "text", options.worker)
        .with("traceparent", "text", options.traceparent)
        .with("after", "bigint[]", options.after.array())
        .with("batch", "bigint", text_of(options.batch))
        .with("after_batch", "bigint", text_of(options.after_batch));
}

inline Call enqueue_call(const char *function, const std::string &type, const Json &data,
                         const EnqueueOptions &options)
{
    Call call(function);
    call.with("job_type", "text", type).with("job_data", "jsonb", data.dump());
    call.with("job_key", "text", options.key);
    return with_options(call, options);
}

}  // namespace detail

// Enqueues a job and returns its id. The job is part of the connection's open transaction: a
// rollback removes it. Throws the errors of hipq.enqueue(): 23505 if the key is taken.
inline std::int64_t enqueue(PGconn *connection, const std::string &type,
                            const Json &data = Json::object(), const EnqueueOptions &options = {})
{
    const Call call = detail::enqueue_call("enqueue", type, data, options);
    return run(connection, call.select(" AS id")).number(0, "id");
}

// Enqueues a job unless an unfinished job has its key; returns the id of this or that job, and the
// action.
inline Unique enqueue_unique(PGconn *connection, const std::string &type, const Json &data,
                             const EnqueueOptions &options)
{
    const Call call = detail::enqueue_call("enqueue_unique", type, data, options);
    const Result result = run(connection, call.select_from("id, action"));
    return {result.number(0, "id"), result.text(0, "action")};
}

// Enqueues a job for each element of `data`, in one statement; returns the ids in this order. One
// key for each job, or no keys; the options `key` and `worker` do not apply to many jobs.
inline std::vector<std::int64_t> enqueue_many(PGconn *connection, const std::string &type,
                                              const std::vector<Json> &data,
                                              const EnqueueOptions &options = {},
                                              const std::vector<Value> &keys = {})
{
    std::vector<std::string> texts;
    for (const Json &element : data)
        texts.push_back(element.dump());
    Call call("enqueue_many");
    call.with("job_type", "text", type).with("job_data", "jsonb[]", text_array(texts));
    call.with("job_keys", "text[]", keys.empty() ? Value() : value_array(keys));
    detail::with_options(call, options);
    return numbers_of(run(connection, call.select(" AS ids")).text(0, "ids"));
}

// Waits up to `timeout` for a job to end, and returns its outcome, or nothing if the job has not
// ended. The job must be committed: do not call this in the transaction that enqueued the job.
inline std::optional<Outcome> wait_for(PGconn *connection, std::int64_t id,
                                       const std::string &timeout = "1 min",
                                       const Value &queue = {})
{
    Call call("wait_for");
    call.with("id", "bigint", std::to_string(id)).with("timeout", duration_type, timeout);
    call.with("queue", "text", queue);
    const Result result = run(connection, call.select_from("outcome, result, error"));
    const std::string outcome = result.rows() == 0 ? "" : result.text(0, "outcome");
    if (outcome != "succeeded" && outcome != "failed" && outcome != "cancelled" &&
        outcome != "expired" && outcome != "skipped")
        return std::nullopt;
    const Value json = result.get(0, "result");
    const Value error = result.get(0, "error");
    return Outcome{outcome, json ? Json::parse(*json) : Json(), error};
}

namespace detail {

inline Value ask_of(PGconn *connection, const char *function, const JobOrId &job, const Value &name)
{
    Call call(function);
    call.with("name", "text", name).with(name ? "job" : "id", "bigint", std::to_string(job.id()));
    return run(connection, call.select(" AS answer")).get(0, "answer");
}

inline Json json_of(const Value &text)
{
    return text ? Json::parse(*text) : Json();
}

}  // namespace detail

// Returns how a job ended, or "waiting" or "running". Requires the right `read`.
inline std::string outcome_of(PGconn *connection, const JobOrId &job)
{
    return detail::ask_of(connection, "outcome_of", job, {}).value_or("");
}

// The same of the job of this name in a graph; `job` is any job of the graph.
inline std::string outcome_of(PGconn *connection, const std::string &name, const JobOrId &job)
{
    return detail::ask_of(connection, "outcome_of", job, name).value_or("");
}

// Returns what the handler of a job returned; null: nothing, or the job has not ended. Requires the
// right `read`.
inline Json result_of(PGconn *connection, const JobOrId &job)
{
    return detail::json_of(detail::ask_of(connection, "result_of", job, {}));
}

// The same of the job of this name in a graph; `job` is any job of the graph.
inline Json result_of(PGconn *connection, const std::string &name, const JobOrId &job)
{
    return detail::json_of(detail::ask_of(connection, "result_of", job, name));
}

// Returns the batch that a job belongs to, or comes after, as a callback does; nothing: there is
// none. Requires the right `read`.
inline std::optional<Batch> current_batch(PGconn *connection, const JobOrId &job)
{
    Call call("current_batch");
    call.with("job", "bigint", std::to_string(job.id()));
    return detail::batch_of(run(connection, call.select(" AS batch_id")));
}

// Cancels a waiting or running job; false: the job ends in another way.
inline bool cancel(PGconn *connection, std::int64_t id, const Value &reason = {},
                   const Value &queue = {})
{
    Call call("cancel");
    call.with("id", "bigint", std::to_string(id)).with("reason", "text", reason);
    call.with("queue", "text", queue);
    return run(connection, call.select(" AS cancelled")).text(0, "cancelled") == "t";
}

}  // namespace hipq::client
