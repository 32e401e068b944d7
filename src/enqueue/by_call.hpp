// Enqueues jobs by function call. (An INSERT into the queue's table needs none of this.)
#pragma once

#include "catalog/catalog.hpp"

namespace hipq::enqueue {

// What a caller may specify for a job; empty means "not given".
struct JobOptions {
    std::string type;
    std::optional<pg::Time> scheduled_run_time;
    std::optional<std::int16_t> priority;
    std::optional<int> timeout;
    pg::RawValue throttle_factor;  // numeric
    std::optional<std::string> time_windows;
    std::optional<int> max_retries;
    std::optional<pg::Time> expires_time;
    std::optional<std::string> throttle_key;
    std::optional<int> queue_ttl{};
};

// NULL and NONE: a job without key.
using Keys = std::vector<std::optional<std::string>>;

// What to do if an unfinished job holds the key. The values from `replace` on act on that job,
// which is looked up first.
enum class OnDuplicate : unsigned char { error, return_holder, replace, merge, debounce, after };
std::optional<OnDuplicate> parse_on_duplicate(std::string_view text);

// sent: the job belongs to another node, which will check whether its key is free.
enum class EnqueueAction : unsigned char {
    inserted,
    returned,
    replaced,
    merged,
    debounced,
    after,
    sent
};
std::string_view name(EnqueueAction action);

// The job that the caller gets, and what was done to get it.
struct Enqueued {
    std::int64_t id;
    EnqueueAction action;
};

// Enqueues one job in the current transaction, whatever rights the caller has on tables (the caller
// of this function has checked 'enqueue'). If an unfinished job holds the key: raises 23505 with
// type and key, and with the holder's id for callers that may read the queue; or returns the
// holder, unchanged or changed (on_duplicate.hpp). Raises 22023 for a change without a key.
Enqueued enqueue(const catalog::Queue &queue, const JobOptions &options, pg::RawValue data,
                 const std::optional<std::string> &key, OnDuplicate on_duplicate);

// The same for arrays; returns ids in the order of the arrays. Keys are inserted in sorted order,
// so that two callers with the same keys do not deadlock. `data` is jsonb[]; `keys` is empty or has
// the same length. If several jobs have the same key, the first one holds it for the others.
std::vector<std::int64_t> enqueue_many(const catalog::Queue &queue, const JobOptions &options,
                                       pg::RawValue data, std::size_t count, const Keys &keys,
                                       OnDuplicate on_duplicate);

}  // namespace hipq::enqueue
