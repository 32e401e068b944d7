// Checks which names are valid, and which table names would collide with hipq's own objects.
// create_queue checks whether a table of that name exists already.
#include "core/text/names.hpp"

#include <algorithm>
#include <array>

#include "core/text/characters.hpp"

namespace hipq::core {

namespace {

constexpr std::string_view built_in_instance = "hipq";

constexpr std::string_view key_index_suffix = "_one_unfinished_job_per_type_and_key";
static_assert(longest_whole_stem + key_index_suffix.size() == max_identifier_length);
// The suffix for tables with long names. With it, the stem of a long name is longer than any short
// table name, so objects of the two cannot have the same name.
constexpr std::string_view short_key_index_suffix = "_one_unfinished_job_per_key";
constexpr std::size_t hash_digits = 8;
static_assert(longest_whole_stem + 1 + hash_digits + short_key_index_suffix.size() ==
              max_identifier_length);

// The names of a queue's leaves and indexes start with its table's name, so each of hipq's own
// tables reserves all names that start like theirs.
constexpr std::array<std::string_view, 13> own_tables{
    "attempt",  "dead_letter", "dependency", "graph_job", "identity", "instance", "job",
    "job_type", "pause",       "queue",      "schedule",  "shard",    "worker",
};

constexpr std::array<std::string_view, 22> own_views{
    "attempts",
    "dead_letters",
    "executors",
    "instances",
    "job_types",
    "jobs",
    "queues",
    "running",
    "sizes",
    "alerts",
    "progress",
    "healthy_workers",
    "workers",
    "throttle_keys",
    "schedules",
    "lanes",
    "pauses",
    "statistics",
    "shards",
    "failure_statistics",
    "retry_distribution",
    "throughput",
};

bool is_control(char c)
{
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
}

bool is_in_a_name(char c)
{
    return is_lower(c) || is_digit(c) || c == '_';
}

bool has_identifier_length(std::string_view name)
{
    return !name.empty() && name.size() <= max_identifier_length;
}

// Returns hipq's own table whose name, followed by an underscore, `table` starts with.
std::optional<std::string_view> own_table_it_starts_like(std::string_view table)
{
    for (std::string_view own : own_tables) {
        if (table.size() > own.size() && table.starts_with(own) && table[own.size()] == '_')
            return own;
    }
    return std::nullopt;
}

bool ends_like_a_leaf_by_time(std::string_view table)
{
    constexpr std::size_t digits_of_a_day = 8;
    const std::size_t last_other = table.find_last_not_of("0123456789");
    return table.size() - last_other > digits_of_a_day &&
           table.substr(0, last_other + 1).ends_with("_p");
}

// FNV-1a. The hash is part of table names: never change it.
std::uint32_t hash_of(std::string_view text)
{
    std::uint32_t hash = 2'166'136'261;
    for (const char c : text)
        hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619;
    return hash;
}

std::string hexadecimal(std::uint32_t number)
{
    std::string text(hash_digits, '0');
    for (std::size_t i = hash_digits; i-- > 0; number /= 16)
        text[i] = "0123456789abcdef"[number % 16];
    return text;
}

bool has_whole_stem(std::string_view table)
{
    return table.size() <= longest_whole_stem;
}

// The beginning of the names of a queue's leaves and indexes.
std::string stem_of(std::string_view table)
{
    if (has_whole_stem(table))
        return std::string{table};
    return std::string{table.substr(0, longest_whole_stem)} + "_" + hexadecimal(hash_of(table));
}

// Many views have a sibling with all columns.
constexpr std::string_view detail_suffix = "_detail";

bool is_own_view(std::string_view name)
{
    if (name.ends_with(detail_suffix))
        name.remove_suffix(detail_suffix.size());
    return std::ranges::find(own_views, name) != own_views.end();
}

bool is_own_object(std::string_view table)
{
    return std::ranges::find(own_tables, table) != own_tables.end() || is_own_view(table);
}

}  // namespace

bool is_valid_name(std::string_view name)
{
    return has_identifier_length(name) && is_lower(name.front()) &&
           std::ranges::all_of(name, is_in_a_name);
}

bool is_valid_job_type(std::string_view name)
{
    return has_identifier_length(name) && std::ranges::none_of(name, is_control);
}

std::optional<QueueName> parse_queue_name(std::string_view text)
{
    const std::size_t dot = text.find('.');
    if (dot == std::string_view::npos)
        return std::nullopt;
    const std::string_view instance = text.substr(0, dot);
    const std::string_view queue = text.substr(dot + 1);
    if (!is_valid_name(instance) || !is_valid_name(queue))
        return std::nullopt;
    return QueueName{std::string{instance}, std::string{queue}};
}

std::string worker_channel(std::int64_t worker_id)
{
    return "hipq_worker_" + std::to_string(worker_id);
}

std::string line_to_shard(const std::string &channel, int node)
{
    return channel + "_to_" + std::to_string(node);
}

std::string line_from_shard(const std::string &channel, int node)
{
    return channel + "_from_" + std::to_string(node);
}

// Composes the name again to compare it: a line has only one valid name.
std::optional<LineName> parse_line(std::string_view name)
{
    constexpr std::size_t most_digits = 4;
    const std::size_t end = name.rfind('_');
    const std::string_view digits = end == std::string_view::npos ? "" : name.substr(end + 1);
    if (digits.empty() || digits.size() > most_digits || !std::ranges::all_of(digits, is_digit))
        return std::nullopt;
    const int shard = std::stoi(std::string(digits));
    const std::string_view start = name.substr(0, end);
    for (const bool is_from_shard : {false, true}) {
        const std::string_view way = is_from_shard ? "_from" : "_to";
        if (!start.ends_with(way))
            continue;
        LineName line{std::string(start.substr(0, start.size() - way.size())), shard,
                      is_from_shard};
        const auto compose = is_from_shard ? line_from_shard : line_to_shard;
        if (compose(line.channel, shard) == name)
            return line;
    }
    return std::nullopt;
}

std::string default_table_name(const QueueName &name)
{
    return name.instance == built_in_instance ? name.queue : name.instance + "_" + name.queue;
}

std::string live_leaf_name(std::string_view table)
{
    return stem_of(table) + "_live";
}

std::string final_tree_name(std::string_view table)
{
    return stem_of(table) + "_final";
}

std::string throttle_index_name(std::string_view live_leaf)
{
    return std::string(live_leaf) + "_keys";
}

std::string key_index_name(std::string_view table)
{
    return stem_of(table).append(has_whole_stem(table) ? key_index_suffix : short_key_index_suffix);
}

std::optional<std::string> table_name_problem(std::string_view table)
{
    if (table.empty())
        return "is empty";
    if (table.size() > max_identifier_length)
        return "is longer than " + std::to_string(max_identifier_length) + " bytes";
    if (!is_lower(table.front()))
        return "does not start with a lower-case letter";
    if (!std::ranges::all_of(table, is_in_a_name))
        return "has characters other than lower-case letters, digits and underscores";
    if (is_own_object(table))
        return "is a name of hipq's own";
    if (const auto own = own_table_it_starts_like(table))
        return "starts like a table of hipq's own (\"" + std::string{*own} + "_\")";
    if (ends_like_a_leaf_by_time(table))
        return "ends like a leaf by time (\"_p20261129\")";
    return std::nullopt;
}

}  // namespace hipq::core
