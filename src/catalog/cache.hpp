// Queues, job types and pauses, cached in each process: queues all, job types and pauses of a queue
// when somebody asks for them. Read again when they change.
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
HandlerKind parse_handler_kind(
    std::string_view text);  // as stored in hipq.job_type.handler_kind; none: not one of its words
std::string_view name(HandlerKind kind);

struct JobParameters;  // job_parameters.hpp

// That something starts no jobs; hipq.pause().
struct Pause {
    std::string by;  // a role
    pg::Time since;
    std::string reason;            // "NONE": nothing was given
    std::optional<int> crashes{};  // of the server, by jobs of the type, for which hipq holds it;
                                   // nothing: somebody paused it
};

// That the jobs of a queue are another server's: a logical subscription brought them.
struct QueueHold {
    std::string subscription;
    pg::Time since;
};

// Of an instance that is spread over several servers.
struct Shards {
    int instance_id;
    core::SlotMap map;
    int own_node;                          // 0: this server is the router
    std::string channel;                   // start of the names of what connects the nodes
    std::bitset<core::slot_count> coming;  // slots whose jobs may still run where they were
    bool has_leaving;                      // there are slots whose jobs are to go elsewhere
    bool awaits_last;  // of the router: a shard that slots leave in strict order is to be told that
                       // nobody sends to it by the map from before any more
    bool is_settling;  // slots have come in strict order, and jobs may still be held
    bool is_in_step;   // false: promoted or restored; timeline.hpp
};

// Slots.
using SlotSet = std::bitset<core::slot_count>;

struct JobType {
    int queue_id;
    std::string name;
    std::string handler;  // "NONE" = none
    HandlerKind handler_kind;
    std::string retry_handler;  // "NONE" = none
    int default_timeout;        // seconds; the setting's where the type says nothing, as all below
    int default_priority;
    std::string default_throttle_factor;  // as numeric text: exact
    std::string default_time_windows;
    std::string time_zone;              // by name: that of the windows of its jobs
    std::optional<int> max_retries;     // nothing: as its queue says
    std::optional<bool> retry_enabled;  // nothing: as its queue says
    std::optional<bool> attempt_log;    // nothing: as the setting says
    core::RetryPolicy policy;
    std::vector<std::string> retry_on;
    std::vector<std::string> do_not_retry_on;
    bool fails_without_handler;  // on_missing_handler = 'fail'
    std::optional<int> queue_ttl;
    std::optional<int> worker_wait_ttl;  // seconds; 0: for ever; nothing: as its queue says
    core::ClaimRule claim;
    int batch_size;  // most jobs in one call of the handler
    core::Weight throttle_limit;
    core::Weight throttle_limit_per_key;
    bool is_registered;                                 // by somebody, not by its jobs
    std::shared_ptr<const JobParameters> parameters{};  // null: it declares none
    core::RetryRules rules() const { return {retry_on, do_not_retry_on}; }
    // No executor runs its jobs; external workers may.
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
    bool is_strict;
    bool is_dropped;
    bool history_all;
    bool dead_letter_enabled;
    std::optional<bool> retry_enabled;   // nothing: as the setting says
    std::optional<int> max_retries;      // its own or its instance's; nothing: as the setting says
    bool commits_in_groups;              // durability = 'group'
    bool keeps_successes;                // unless retention => '0'
    std::int64_t retention;              // microseconds, of what is kept
    std::int64_t dead_letter_retention;  // microseconds
    std::int64_t dead_letter_max;        // how many of them are kept, the newest
    std::string dead_letter_handler;     // "NONE" = none
    int dead_letter_crashes;             // of the server, by that handler, within 10 minutes
    std::optional<int> queue_ttl;
    std::optional<int> worker_wait_ttl;  // seconds; 0: for ever; nothing: as the setting says
    core::JobCaps caps;                  // on what enqueuers choose
    core::Weight throttle_limit;
    std::int64_t weight;  // its share of the executors; core/limits/fair_share.hpp
    std::optional<Pause> instance_pause;
    std::optional<Pause> pause;
    std::optional<QueueHold> hold{};
    std::shared_ptr<const Shards> shards{};     // null: its jobs are all here
    std::optional<core::ShardKey> shard_key{};  // nothing: all its jobs are the router's
    std::string shard_key_text{};               // the same, as create_queue() was given it
    core::UniqueScope unique_scope = core::UniqueScope::everywhere;

    // Slots that move in strict order; null: none. Of those that leave this node no job starts here
    // any more; of those that come every job is held.
    std::shared_ptr<const SlotSet> leaving_in_order{};
    std::shared_ptr<const SlotSet> coming_in_order{};

    bool has_shared_mode = false;  // throttle_mode = 'shared': of use in a sharded instance only

    // Read when they are asked for first: with the values that there are by then. Null: none.
    std::shared_ptr<QueueTypes> types{};
    std::shared_ptr<QueuePauses> pauses{};

    // Whether its limits are shared by several nodes.
    bool shares_limits() const { return has_shared_mode && shards != nullptr; }
    // Whether its keys are unique for each shard key: core/shards/route.hpp. That is part of its
    // index over keys then, and of each search for the job with a key.
    bool has_keys_by_shard() const { return unique_scope == core::UniqueScope::shard_key; }
    std::string full_name() const { return instance + "." + name; }
    // Of jobs of the type that give none.
    int max_retries_of(const JobType &type) const;
    bool is_out_of_step() const { return shards != nullptr && !shards->is_in_step; }
    // Of a job by its id: the slot is one of those above.
    bool has_left_in_order(std::int64_t job_id) const;
    bool comes_in_order(std::int64_t job_id) const;
    // Its jobs are not to be started, nor changed.
    bool stands_still() const { return hold.has_value() || is_out_of_step(); }
    std::string live_table() const;            // app_mail_live
    std::string final_table() const;           // app_mail_final
    std::string qualified_table() const;       // hipq.app_mail, quoted where needed
    std::string qualified_live_table() const;  // hipq.app_mail_live
    bool handles_dead_letters() const { return dead_letter_handler != "NONE"; }
    // What follows reads, in a transaction of its own where there is none, and raises what the
    // statements raise. What is returned stays as long as the catalogue is held, and is the same
    // when it is asked for again.

    // The type as it is in the catalogue, or nothing.
    const JobType *find_job_type(std::string_view job_type) const;
    const JobTypes &job_types() const;  // all
    const TypeFacts &type_facts() const;
    // What keeps all jobs of a type from being started; null: nothing does.
    const Pause *find_pause(std::string_view job_type) const;
    // Of the type alone.
    const Pause *find_type_pause(std::string_view job_type) const;
    // The types that are paused by themselves, in order.
    std::vector<std::string> paused_types() const;
    // hipq holds the type for crashes of the server.
    bool is_held(std::string_view job_type) const;
    // Throttle keys of a type that are paused, in order.
    std::vector<std::string> paused_keys(std::string_view job_type) const;
    const PausedKeys::value_type *find_key_pause(std::string_view job_type,
                                                 std::string_view throttle_key) const;
    bool has_paused_keys() const;
    // How keys and limits say which node a job goes to.
    core::Placement placement() const;
};

// What the types of a queue are all together.
struct TypeFacts {
    std::int64_t unregistered = 0;  // nobody has registered them
    bool has_handlers = false;      // that executors run
    bool has_others = false;        // that external workers may run
    bool has_limits = false;        // throttle limits
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
    Oid job_ids = InvalidOid;                   // sequence hipq.job_id_seq
    std::shared_ptr<const QueueNames> names{};  // that queues may be called by; null: none
    const Queue *find(int queue_id) const;
    const Queue *find(std::string_view full_name)
        const;  // "instance.queue"; nothing also for a malformed name and a dropped queue
};

// A process that reads while others write tries this often before it takes what it has; the next
// call reads again.
inline constexpr int max_reads = 5;

// What the catalogue says now; the caller's copy stays valid while it holds it. Read as the
// extension owner with the latest snapshot, whatever the isolation level. Needs a transaction.
std::shared_ptr<const Catalogue> catalogue();

// The same with maps of shards that no move gets past: until this transaction ends the node that
// has a slot waits for it before it says that no more jobs come. To be called before a job is
// placed.
std::shared_ptr<const Catalogue> catalogue_with_locked_maps();

// Whether nobody is just changing a map of shards. What a change has written is read by shards as
// soon as it is on disk, seen here later (with a synchronous standby: much later), and others are
// told to forget the old map later still; its lock goes after all that. If true, catalogue() has
// every map that any shard may have heard of until now.
bool are_maps_settled();

// The same without the queues that stand still: for hipq's own work, which they are not to see.
std::shared_ptr<const Catalogue> working_catalogue();

// A type with the values of the settings, for jobs of types that nobody registered.
JobType unregistered_job_type(int queue_id, std::string_view name);

// The queue named, or an error 42704 with a hint.
const Queue &require_queue(const Catalogue &catalogue, std::string_view full_name);

// The live leaf of a queue; InvalidOid: it is gone.
Oid live_leaf(const Queue &queue);

}  // namespace hipq::catalog
