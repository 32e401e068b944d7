// Batches: jobs that are counted together, with a callback that runs after them. enqueue() with the
// option `batch` adds jobs.
#pragma once

#include "hipq/client/connection.hpp"

#include <nlohmann/json.hpp>

namespace hipq::client {

using Json = nlohmann::json;

// A batch, by its id.
class Batch {
public:
    Batch(std::int64_t id) : id_(id) {}
    std::int64_t id() const { return id_; }
    bool operator==(const Batch &) const = default;

private:
    std::int64_t id_;
};

struct BatchOptions {
    Value name = {};           // for people
    Value callback_type = {};  // the callback: a job of this type, which comes after the batch
    Json callback_data = Json::object();
    // When the callback runs: when all jobs have ended (finished, the default), when all have
    // succeeded (succeeded), or when one has failed (first_failure). Otherwise it is skipped.
    Value call_when = {};
    Value queue = {};          // of the callback; by default the queue that has its type
    Value expires_after = {};  // how long it may stay open; a day. Then it counts as closed
    // Only the transaction that creates it adds jobs, and its jobs while they run.
    bool closed = false;
};

// The state of a batch, and the numbers of its jobs.
struct BatchProgress {
    std::string state;  // open, running, finished, or abandoned: it was not closed in time
    std::int64_t jobs;
    std::int64_t unfinished;
    std::int64_t succeeded;
    std::int64_t failed;  // or cancelled, or expired
    std::int64_t skipped;
};

namespace detail {

inline Call call_of_batch(const char *function, const Batch &batch)
{
    Call call(function);
    call.with("batch", "bigint", std::to_string(batch.id()));
    return call;
}

inline std::optional<Batch> batch_of(const Result &result)
{
    if (!result.get(0, "batch_id"))
        return std::nullopt;
    return Batch(result.number(0, "batch_id"));
}

}  // namespace detail

// Creates a batch, and its callback, in the connection's open transaction. Throws the errors of
// hipq.create_batch(): 22023 without a callback and a queue.
inline Batch create_batch(PGconn *connection, const BatchOptions &options = {})
{
    Call call("create_batch");
    call.with("name", "text", options.name)
        .with("callback_type", "text", options.callback_type)
        .with("callback_data", "jsonb", options.callback_data.dump())
        .with("call_when", "text", options.call_when)
        .with("queue", "text", options.queue)
        .with("expires_after", duration_type, options.expires_after)
        .with("closed", "boolean", options.closed ? "true" : "false");
    return run(connection, call.select(" AS id")).number(0, "id");
}

// Says that no more jobs will be added, except by its own jobs while they run; false: it was closed
// already.
inline bool close_batch(PGconn *connection, const Batch &batch)
{
    const Call call = detail::call_of_batch("close_batch", batch);
    return run(connection, call.select(" AS closed")).text(0, "closed") == "t";
}

// Closes a batch and cancels its unfinished jobs, but not its callback; returns how many.
inline std::int64_t cancel_batch(PGconn *connection, const Batch &batch, const Value &reason = {})
{
    Call call = detail::call_of_batch("cancel_batch", batch);
    call.with("reason", "text", reason);
    return run(connection, call.select(" AS cancelled")).number(0, "cancelled");
}

// Returns nothing if there is no such batch, or if the role lacks the right `read`.
inline std::optional<BatchProgress> batch_progress(PGconn *connection, const Batch &batch)
{
    const Call call = detail::call_of_batch("batch_progress", batch);
    const Result row = run(connection, call.select_from("*"));
    if (row.rows() == 0)
        return std::nullopt;
    return BatchProgress{row.text(0, "state"),        row.number(0, "jobs"),
                         row.number(0, "unfinished"), row.number(0, "succeeded"),
                         row.number(0, "failed"),     row.number(0, "skipped")};
}

}  // namespace hipq::client
