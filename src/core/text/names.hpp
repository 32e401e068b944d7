// Names: of instances, queues, job types, tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hipq::core {

// PostgreSQL's limit for identifiers, NAMEDATALEN - 1.
inline constexpr std::size_t max_identifier_length = 63;

// The longest name to which every suffix of a queue's leaves and indexes can be appended: the
// longest is "_one_unfinished_job_per_type_and_key", 36 bytes.
inline constexpr std::size_t longest_whole_stem = max_identifier_length - 36;

struct QueueName {
    std::string instance;
    std::string queue;
    bool operator==(const QueueName &) const = default;
};

// Lower-case letters, digits and underscores, first a letter; 1 to 63 bytes.
bool is_valid_name(std::string_view name);

// Job types: 1 to 63 bytes, no control characters (below 0x20, 0x7f).
bool is_valid_job_type(std::string_view name);

// "instance.queue" with both parts valid; nothing for every other text.
std::optional<QueueName> parse_queue_name(std::string_view text);

// What an external worker listens on.
std::string worker_channel(std::int64_t worker_id);

// What brings rows of the outbox from the router to a shard, and from a shard to the router: name
// of the publication, the replication slot and the subscription. `channel`: hipq.shard has it.
std::string line_to_shard(const std::string &channel, int node);
std::string line_from_shard(const std::string &channel, int node);

// And back. Nothing for every other name.
struct LineName {
    std::string channel;
    int shard;
    bool is_from_shard;
    bool operator==(const LineName &) const = default;
};
std::optional<LineName> parse_line(std::string_view name);

// The table of a queue by the default naming strategy: <instance>_<queue>; <queue> in the built-in
// instance "hipq".
std::string default_table_name(const QueueName &name);

// What belongs to a queue's table, in schema hipq as the table itself. The names start with the
// table's. Of a long one (more than longest_whole_stem) they start with as much as fits and a hash
// of all of it: the table alone says what they are, also after a dump has brought it elsewhere.
std::string live_leaf_name(std::string_view table);   // app_mail_live
std::string final_tree_name(std::string_view table);  // app_mail_final
std::string key_index_name(std::string_view table);   // of the live leaf: one job per type and key

// Why a table name cannot be used, or nothing: a sentence fragment without capital or period
// ("is longer than 63 bytes", "is a name of hipq's own", "starts like a table of hipq's own
// (\"attempt_\")", ...). Usable: letters, digits and underscores, lower case, first a letter, at
// most max_identifier_length bytes, not one of hipq's own objects (attempt, dead_letter,
// identity, instance, job, job_type, queue, worker and the views attempts, dead_letters, executors,
// instances, job_types, jobs, queues, running, sizes, alerts, progress, workers, healthy_workers,
// lanes, throttle_keys, schedules), not starting with one of the tables' names followed by an
// underscore, and not ending like a leaf by time, "_p20261129".
std::optional<std::string> table_name_problem(std::string_view table);

}  // namespace hipq::core
