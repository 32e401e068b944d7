// The catalogue, cached in each process: queues, and their job types and pauses, once they are
// needed. Changed parts are read again.
#pragma once

#include "catalog/queue_map.hpp"
#include "core/job/job_caps.hpp"
#include "core/lanes/claiming.hpp"
#include "core/limits/throttle.hpp"
#include "core/retry/backoff.hpp"
#include "core/retry/failure.hpp"
#include "core/shards/route.hpp"
#include "core/shards/shard_key.hpp"
#include "pg/spi.hpp"

#include <bitset>
#include <unordered_map>

namespace hipq::catalog {

enum class HandlerKind : unsigned char { none, function, procedure, statement, notify };
// Takes a word as stored in hipq.job_type.handler_kind. Returns none for any other word.
HandlerKind parse_handler_kind(std::string_view text);
std::string_view name(HandlerKind kind);

struct JobParameters;  // job_parameters.hpp

// A pause, set by hipq.pause(): no jobs of the paused object are started.
struct Pause {
    std::string by;  // a role
    pg::Time since;
    std::string reason;  // "NONE": none was given
    // When the scheduler ends it; nothing: it ends with hipq.resume(). It holds as long as its row
    // is there, also after this time.
    std::optional<pg::Time> until{};
    // Crashes of the server caused by jobs of the type, for which hipq holds it. Nothing: a user
    // paused it.
    std::optional<int> crashes{};
};

// A breaker that is not closed: a row of hipq.breaker_state.
struct OpenBreaker {
    std::int64_t change;  // see core/limits/breaker_table.hpp
    pg::Time since;
    pg::Time until = pg::infinity;    // infinity: until a user closes it
    std::optional<std::string> by{};  // a role; nothing: it opened by itself
    std::string reason;               // "NONE": none was given
};

// A hold: a logical subscription brought the jobs of the queue, which belong to another server.
struct QueueHold {
    std::string subscription;
    pg::Time since;
};

// The shards of an instance that is spread over several servers.
struct Shards {
    int instance_id;
    core::SlotMap map;
    int own_node;         // 0: this server is the router
    std::string channel;  // start of the names of the objects that connect the nodes
    std::bitset<core::slot_count> coming;  // slots whose jobs may still run on the old node
    bool has_leaving;                      // some slots are leaving for another node
    // On the router: slots leave a shard in strict order, and the router has not yet sent that
    // shard the letter that no job comes to it by the old map any more (`last`).
    bool awaits_last;
    bool is_settling;  // slots have come in strict order, and some of their jobs may still be held
    bool is_in_step;   // false: the node was promoted or restored; see timeline.hpp
};

// A set of slots.
using SlotSet = std::bitset<core::slot_count>;

struct JobType {
    int queue_id;
    std::string name;
    std::string handler;  // "NONE" = none
    HandlerKind handler_kind;
    std::string retry_handler;  // "NONE" = none
    int default_timeout;  // seconds; here and below the setting's value where the type has none
    int default_priority;
    std::string default_throttle_factor;  // as numeric text: exact
    std::string default_time_windows;
    std::string time_zone;              // a name; time windows of its jobs are in this zone
    std::optional<int> max_retries;     // nothing: the queue's value
    std::optional<bool> retry_enabled;  // nothing: the queue's value
    std::optional<bool> attempt_log;    // nothing: the setting's value
    core::RetryPolicy policy;
    std::vector<std::string> retry_on;
    std::vector<std::string> do_not_retry_on;
    bool fails_without_handler;  // on_missing_handler = 'fail'
    std::optional<int> queue_ttl;
    std::optional<int> worker_wait_ttl;  // seconds; 0: forever; nothing: the queue's value
    core::ClaimRule claim;
    int batch_size;  // the most jobs in one call of the handler
    core::Weight throttle_limit;
    core::Weight throttle_limit_per_key;
    core::Rate rate{};
    core::Rate rate_per_key{};
    core::BreakerRule breaker{};
    bool is_registered;                                 // by a user, and not added because of a job
    std::shared_ptr<const JobParameters> parameters{};  // null: the type declares none
    core::RetryRules rules() const { return {retry_on, do_not_retry_on}; }
    // Executors do not run its jobs; external workers may.
    bool is_without_handler() const
    {
        return handler_kind == HandlerKind::notify || handler_kind == HandlerKind::none;
    }
};

class QueueTypes;   // reading/queue_types.hpp
class QueuePauses;  // reading/queue_pauses.hpp
struct TypeFacts;

using JobTypes = std::map<std::string, JobType, std::less<>>;
using PausedKeys = std::map<std::string, Pause, std::less<>>;

struct Queue {
    int id;
    int instance_id;
    std::string instance;
    std::string name;
    Oid owner;
    std::string table;  // within schema hipq, unquoted
    bool has_waits;     // it has column waits_for, which 0.2.0 lacks, as other tables of 0.3.0
    bool is_strict;
    bool is_dropped;
    bool history_all;
    bool dead_letter_enabled;
    std::optional<bool> retry_enabled;  // nothing: the setting's value
    std::optional<int> max_retries;  // the queue's or its instance's; nothing: the setting's value
    bool commits_in_groups;          // durability = 'group'
    bool keeps_successes;            // false if retention => '0'
    std::int64_t retention;          // microseconds; for jobs that are kept
    std::int64_t dead_letter_retention;  // microseconds
    std::int64_t dead_letter_max;        // how many dead letters are kept; the newest ones are
    std::string dead_letter_handler;     // "NONE" = none
    int dead_letter_crashes;             // crashes of the server by that handler within 10 minutes
    std::optional<int> queue_ttl;
    std::optional<int> worker_wait_ttl;  // seconds; 0: forever; nothing: the setting's value
    core::JobCaps caps;                  // limits on what enqueuers may choose
    core::Weight throttle_limit;
    core::Rate rate{};
    std::int64_t weight;  // its share of the executors; see core/limits/fair_share.hpp
    std::optional<Pause> instance_pause;
    std::optional<Pause> pause;
    std::optional<QueueHold> hold{};
    std::shared_ptr<const Shards> shards{};     // null: all its jobs are on this server
    std::optional<core::ShardKey> shard_key{};  // nothing: all its jobs are on the router
    std::string shard_key_text{};               // the same, as given to create_queue()
    core::UniqueScope unique_scope = core::UniqueScope::everywhere;

    // Slots that move in strict order; null: none. Jobs of a slot that leaves this node no longer
    // start here. Jobs of a slot that comes to this node are all held.
    std::shared_ptr<const SlotSet> leaving_in_order{};
    std::shared_ptr<const SlotSet> coming_in_order{};

    bool has_shared_mode = false;  // throttle_mode = 'shared'; matters in a sharded instance only

    // Read on first use, with the values that they have by then. Null: none.
    std::shared_ptr<QueueTypes> types{};
    std::shared_ptr<QueuePauses> pauses{};

    // Whether several nodes share its limits.
    bool shares_limits() const { return has_shared_mode && shards != nullptr; }
    // Whether its keys are unique per shard key (core/shards/route.hpp). The shard key is then part
    // of the index over keys and of each search for the job with a key.
    bool has_keys_by_shard() const { return unique_scope == core::UniqueScope::shard_key; }
    std::string full_name() const { return instance + "." + name; }
    // The value for jobs of the type that do not give one themselves.
    int max_retries_of(const JobType &type) const;
    bool is_out_of_step() const { return shards != nullptr && !shards->is_in_step; }
    // Whether the slot of the job with this id is one of the slots above.
    bool has_left_in_order(std::int64_t job_id) const;
    bool comes_in_order(std::int64_t job_id) const;
    // Its jobs must be neither started nor changed.
    bool stands_still() const { return hold.has_value() || is_out_of_step(); }
    std::string live_table() const;            // app_mail_live
    std::string final_table() const;           // app_mail_final
    std::string qualified_table() const;       // hipq.app_mail, quoted where needed
    std::string qualified_live_table() const;  // hipq.app_mail_live
    bool handles_dead_letters() const { return dead_letter_handler != "NONE"; }
    // The functions below read the tables, in a transaction of their own if there is none, and
    // raise any error of their statements. Their results stay valid, and repeated calls return the
    // same values, as long as the caller holds the catalogue.

    // The type as stored in hipq.job_type, or null.
    const JobType *find_job_type(std::string_view job_type) const;
    const JobTypes &job_types() const;  // all of them
    const TypeFacts &type_facts() const;
    // The pause that keeps all jobs of a type from being started; null: there is none.
    const Pause *find_pause(std::string_view job_type) const;
    // The pause of the type itself.
    const Pause *find_type_pause(std::string_view job_type) const;
    // The types that have a pause of their own, in order.
    std::vector<std::string> paused_types() const;
    // Whether hipq holds the type because it crashed the server.
    bool is_held(std::string_view job_type) const;
    // The paused throttle keys of a type, in order.
    std::vector<std::string> paused_keys(std::string_view job_type) const;
    const PausedKeys::value_type *find_key_pause(std::string_view job_type,
                                                 std::string_view throttle_key) const;
    bool has_paused_keys() const;
    // The breaker of a type as the tables have it; null: it is closed. Shared memory may know
    // better (claim/type_breaker.hpp).
    const OpenBreaker *find_open_breaker(std::string_view job_type) const;
    // How keys and limits determine which node a job goes to.
    core::Placement placement() const;
};

// A summary of the job types of a queue.
struct TypeFacts {
    std::int64_t unregistered = 0;  // types that are not registered
    bool has_handlers = false;      // some types have a handler that executors run
    bool has_others = false;        // some types have none; external workers may run their jobs
    bool has_limits = false;        // some types have throttle limits
};

struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const
    {
        return std::hash<std::string_view>()(name);
    }
};
using QueueNames = std::unordered_map<std::string, int, NameHash, std::equal_to<>>;

struct Catalogue {
    QueueMap queues;
    Oid job_ids = InvalidOid;             // sequence hipq.job_id_seq
    std::shared_ptr<QueueNames> names{};  // names by which queues can be found; null: none
    // Queues, and the names by which they are found, are read when they are looked up. Not where
    // queues stand still or an instance has shards.
    bool is_read_as_met = false;
    const Queue *find(int queue_id) const;
    // Takes "instance.queue". Returns null also for a malformed name and a dropped queue.
    const Queue *find(std::string_view full_name) const;
};

// A process whose data changes while it reads tries this many times, then uses what it has; the
// next call reads again.
inline constexpr int max_reads = 5;

// The present catalogue. The caller's copy stays valid while the caller holds it. It is read as the
// extension owner with the latest snapshot, whatever the isolation level. Needs a transaction.
std::shared_ptr<const Catalogue> catalogue();

// The same, with the maps of shards locked against moves: until this transaction ends, the node
// that has a slot waits for it before it says that no more jobs come. Call it before placing a job.
std::shared_ptr<const Catalogue> catalogue_with_locked_maps();

// Whether no transaction is changing a map of shards. Shards read a change as soon as it is on
// disk. This node sees it later (with a synchronous standby much later), and its other processes
// are told to forget the old map later still. The lock on the map is released after all that, so if
// this returns true, catalogue() has every map that any shard may have read up to now.
bool are_maps_settled();

// catalogue() without the queues that stand still, for hipq's own work, which must not see them.
std::shared_ptr<const Catalogue> working_catalogue();

// A type with the values of the settings, for jobs of unregistered types.
JobType unregistered_job_type(int queue_id, std::string_view name);

// Returns the queue named, or raises 42704 with a hint.
const Queue &require_queue(const Catalogue &catalogue, std::string_view full_name);

// The live leaf of a queue; InvalidOid: it no longer exists.
Oid live_leaf(const Queue &queue);

}  // namespace hipq::catalog
