// Names of instances, queues, job types and tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hipq::core {

// PostgreSQL's limit for identifiers, NAMEDATALEN - 1.
inline constexpr std::size_t max_identifier_length = 63;

// The longest name to which every suffix of a queue's leaves and indexes can be appended. The
// longest suffix is "_one_unfinished_job_per_type_and_key", 36 bytes.
inline constexpr std::size_t longest_whole_stem = max_identifier_length - 36;

struct QueueName {
    std::string instance;
    std::string queue;
    bool operator==(const QueueName &) const = default;
};

// Lower-case letters, digits and underscores, starting with a letter; 1 to 63 bytes.
bool is_valid_name(std::string_view name);

// Job types: 1 to 63 bytes, no control characters (below 0x20, 0x7f).
bool is_valid_job_type(std::string_view name);

// "instance.queue" with both parts valid; nothing for any other text.
std::optional<QueueName> parse_queue_name(std::string_view text);

// The channel on which an external worker listens.
std::string worker_channel(std::int64_t worker_id);

// A line carries rows of the outbox from the router to a shard, or from a shard to the router. This
// is the name of its publication, replication slot and subscription. `channel` is a column of
// hipq.shard.
std::string line_to_shard(const std::string &channel, int node);
std::string line_from_shard(const std::string &channel, int node);

// Parses the name of a line. Nothing for any other name.
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

// The objects of a queue's table, in schema hipq like the table. Their names start with the table's
// name, or, if that is longer than longest_whole_stem, with as much of it as fits and a hash of all
// of it. So the table's name alone determines them, also after a dump was restored elsewhere.
std::string live_leaf_name(std::string_view table);           // app_mail_live
std::string final_tree_name(std::string_view table);          // app_mail_final
std::string throttle_index_name(std::string_view live_leaf);  // app_mail_live_keys
std::string key_index_name(std::string_view table);  // of the live leaf: one job per type and key

// Returns why a table name cannot be used, or nothing. The reason is a sentence fragment without
// capital or period ("is longer than 63 bytes", "is a name of hipq's own", "starts like a table of
// hipq's own (\"attempt_\")", ...). A usable name has lower-case letters, digits and underscores,
// starts with a letter, and has at most max_identifier_length bytes. It is not the name of one of
// hipq's own tables or views (own_tables and own_views in names.cpp), does not start with the name
// of one of these tables and an underscore, and does not end like a leaf by time, "_p20261129".
std::optional<std::string> table_name_problem(std::string_view table);

}  // namespace hipq::core
