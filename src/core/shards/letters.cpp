// Holds the table of the kinds of letters, and checks letters by it.
#include "core/shards/letters.hpp"

#include "core/job/bounds.hpp"
#include "core/shards/ids.hpp"
#include "core/text/characters.hpp"
#include "core/text/cut.hpp"
#include "core/text/names.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace hipq::core {

namespace {

// ---- the table ----

constexpr bool needed = true;
constexpr bool spare = false;

constexpr std::int64_t most_integer = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least_integer = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t most_number = std::int64_t{1} << 62;  // of letters, epochs, generations
// The limit of capacities: the shares of all nodes can be added up.
constexpr std::int64_t most_weight = std::int64_t{1} << 51;
static_assert(most_weight <= most_integer / (2 * node_count));
constexpr std::int64_t most_slots = slot_count - 1;  // that can move
constexpr std::int64_t last_node = node_count - 1;
constexpr std::int64_t most_elements = most_jobs_at_once;  // of a list without another bound
constexpr std::int64_t most_name = 63;
constexpr std::int64_t most_sentence = most_failure_text;

constexpr std::array returned_fields{
    LetterField{"", "slots", FieldType::list, needed, 0, most_slots},
    LetterField{"slots", "slot", FieldType::integer, needed, 1, most_slots},
    LetterField{"slots", "busy", FieldType::busy_keys, needed},
};

constexpr std::array last_fields{
    LetterField{"", "slots", FieldType::list, needed, 0, most_slots},
    LetterField{"slots", "", FieldType::integer, needed, 1, most_slots},
};

constexpr std::array map_fields{
    LetterField{"", "generation", FieldType::integer, needed, 0, most_number},
    LetterField{"", "nodes", FieldType::list, needed, slot_count, slot_count},
    LetterField{"nodes", "", FieldType::integer, needed, 0, last_node},
    LetterField{"", "moves", FieldType::list, spare, 0, most_slots},
    LetterField{"moves", "slot", FieldType::integer, needed, 1, most_slots},
    LetterField{"moves", "from_node", FieldType::integer, needed, 0, last_node},
    LetterField{"moves", "to_node", FieldType::integer, needed, 0, last_node},
    LetterField{"moves", "in_order", FieldType::names, spare},
};

// Input for hipq.apply(), which checks everything else. A letter must not say anything about other
// instances, about privileges and schedules, or about code that would run meanwhile.
constexpr std::array set_up_fields{
    LetterField{"", "instances", FieldType::list, spare, 0, most_elements},
    LetterField{"instances", "name", FieldType::own_instance, needed},
    LetterField{"instances", "table_naming_strategy", FieldType::nothing, spare},
    LetterField{"instances", "db_config", FieldType::nothing, spare},
    LetterField{"", "queues", FieldType::list, spare, 0, most_elements},
    LetterField{"queues", "queue", FieldType::own_queue, needed},
    LetterField{"", "job_types", FieldType::list, spare, 0, most_elements},
    LetterField{"job_types", "queue", FieldType::own_queue, needed},
    LetterField{"", "pauses", FieldType::list, spare, 0, most_elements},
    LetterField{"pauses", "instance", FieldType::own_instance, spare},
    LetterField{"pauses", "queue", FieldType::own_queue, spare},
    LetterField{"", "grants", FieldType::nothing, spare},
    LetterField{"", "schedules", FieldType::nothing, spare},
};

constexpr std::array stats_fields{
    LetterField{"", "queues", FieldType::list, needed, 0, most_elements},
    LetterField{"queues", "queue", FieldType::text, needed, 1, most_name},
    LetterField{"queues", "backlog_estimate", FieldType::integer, spare, 0, most_integer},
    LetterField{"queues", "running_jobs", FieldType::integer, spare, 0, most_integer},
    LetterField{"queues", "finished_per_minute", FieldType::number, spare},
    LetterField{"queues", "failed", FieldType::integer, spare, 0, most_integer},
    LetterField{"queues", "oldest_due_time", FieldType::time, spare},
    LetterField{"queues", "state", FieldType::text, spare, 0, most_sentence},
    LetterField{"", "trouble", FieldType::text, spare, 0, most_sentence},
};

constexpr std::array ask_fields{
    LetterField{"", "limits", FieldType::list, needed, 0, most_elements},
    LetterField{"limits", "queue", FieldType::text, needed, 1, most_name},
    LetterField{"limits", "job_type", FieldType::text, needed, 0, most_name},
    LetterField{"limits", "throttle_key", FieldType::integer, needed, least_integer, most_integer},
    LetterField{"limits", "epoch", FieldType::integer, needed, 0, most_number},
    LetterField{"limits", "serial", FieldType::integer, needed, 0, most_number},
    LetterField{"limits", "keep", FieldType::integer, needed, 0, most_weight},
    LetterField{"limits", "want", FieldType::integer, needed, 0, most_weight},
    LetterField{"limits", "unit", FieldType::integer, needed, 0, most_weight},
};

constexpr std::array answer_fields{
    LetterField{"", "limits", FieldType::list, needed, 0, most_elements},
    LetterField{"limits", "queue", FieldType::text, needed, 1, most_name},
    LetterField{"limits", "job_type", FieldType::text, needed, 0, most_name},
    LetterField{"limits", "throttle_key", FieldType::integer, needed, least_integer, most_integer},
    LetterField{"limits", "epoch", FieldType::integer, needed, 0, most_number},
    LetterField{"limits", "serial", FieldType::integer, needed, 0, most_number},
    LetterField{"limits", "share", FieldType::integer, needed, 0, most_weight},
    LetterField{"limits", "target", FieldType::integer, needed, 0, most_weight},
    LetterField{"limits", "limit", FieldType::integer, needed, 0, most_weight},
    LetterField{"limits", "is_all", FieldType::boolean, needed},
};

// A row of hipq.shard_reject, about a job that the receiver sent and the sender did not accept.
constexpr std::array rejected_fields{
    LetterField{"", "instance", FieldType::own_instance, needed},
    LetterField{"", "sender", FieldType::receiver, needed},
    LetterField{"", "node", FieldType::sender, needed},
    LetterField{"", "outbox_id", FieldType::integer, needed, least_integer, most_integer},
    LetterField{"", "rejected_time", FieldType::time, needed},
    LetterField{"", "queue", FieldType::text, spare, 0, most_name},
    LetterField{"", "job_id", FieldType::integer, spare, least_integer, most_integer},
    LetterField{"", "sqlstate", FieldType::text, needed, 5, 5},
    LetterField{"", "error", FieldType::text, needed, 0, most_sentence},
    LetterField{"", "job", FieldType::any, needed},
};

// A sign of life names other signs (signs.hpp).
constexpr std::array alive_fields{
    LetterField{"", "before", FieldType::list, spare, 2, 2},
    LetterField{"before", "", FieldType::integer, needed, 1, most_number},
    LetterField{"", "heard", FieldType::list, spare, 2, 2},
    LetterField{"heard", "", FieldType::integer, needed, 1, most_number},
};

enum class Content : unsigned char { none, jobs, body, body_or_none };

constexpr LetterKind kind_of(std::string_view name, Senders senders, Content content,
                             std::span<const LetterField> fields = {})
{
    const bool needs_body = content == Content::body;
    return {name,
            senders,
            content == Content::jobs,
            needs_body || content == Content::body_or_none,
            needs_body,
            fields};
}

constexpr std::array kinds{
    kind_of("jobs", Senders::all, Content::jobs),
    kind_of("moved", Senders::all, Content::jobs),
    kind_of("returned", Senders::all, Content::body, returned_fields),
    kind_of("last", Senders::router, Content::body, last_fields),
    kind_of("map", Senders::router, Content::body, map_fields),
    kind_of("set_up", Senders::router, Content::body, set_up_fields),
    kind_of("stats", Senders::shards, Content::body, stats_fields),
    kind_of("permit_ask", Senders::shards, Content::body, ask_fields),
    kind_of("permit_answer", Senders::router, Content::body, answer_fields),
    kind_of("rejected", Senders::all, Content::body, rejected_fields),
    kind_of("alive", Senders::all, Content::body_or_none, alive_fields),
    kind_of("taken", Senders::nobody, Content::none),
};

// ---- the check ----

bool is_within(std::int64_t value, const LetterField &field)
{
    return value >= field.least && value <= field.most;
}

bool is_own_queue(std::string_view name, std::string_view instance)
{
    const auto parts = parse_queue_name(name);
    return parts.has_value() && parts->instance == instance;
}

bool is_text(const Json &value)
{
    return value.kind == Json::Kind::text;
}

bool is_busy_key(const Json &value)
{
    if (value.kind == Json::Kind::list)
        return value.elements.size() >= 3 && std::ranges::all_of(value.elements, is_text);
    const Json *queue = value.find("queue");
    const Json *awaits = value.find("awaits");
    return queue != nullptr && awaits != nullptr && is_text(*queue) && is_text(*awaits);
}

bool is_number(const Json &value, std::int64_t expected)
{
    return value.integer == expected;
}

bool fits(const Json &value, const LetterField &field, const LetterLine &line)
{
    const bool is_list = value.kind == Json::Kind::list;
    switch (field.type) {
    case FieldType::integer:
        return value.integer.has_value() && is_within(*value.integer, field);
    case FieldType::number:
        return value.kind == Json::Kind::number;
    case FieldType::boolean:
        return value.kind == Json::Kind::boolean;
    case FieldType::text:
        return is_text(value) && is_within(static_cast<std::int64_t>(value.text.size()), field);
    case FieldType::time:
        return is_text(value) && !value.text.empty() && is_digit(value.text.front());
    case FieldType::list:
        return is_list && is_within(static_cast<std::int64_t>(value.elements.size()), field);
    case FieldType::names:
        return is_list && std::ranges::all_of(value.elements, is_text);
    case FieldType::busy_keys:
        return is_list && std::ranges::all_of(value.elements, is_busy_key);
    case FieldType::own_instance:
        return is_text(value) && value.text == line.instance;
    case FieldType::own_queue:
        return is_text(value) && is_own_queue(value.text, line.instance);
    case FieldType::sender:
        return is_number(value, line.sender);
    case FieldType::receiver:
        return is_number(value, line.receiver);
    case FieldType::any:
        return true;
    case FieldType::nothing:
        break;
    }
    return false;
}

// The place of a field: "nodes", "slots[7].busy", "nodes[7]".
std::string place_of(const LetterField &field, std::size_t element)
{
    std::string place(field.list);
    if (!field.list.empty())
        place += "[" + std::to_string(element) + "]";
    if (!place.empty() && !field.name.empty())
        place += ".";
    return place.append(field.name);
}

bool is_missing(const Json *value)
{
    return value == nullptr || value->kind == Json::Kind::null;
}

std::optional<std::string> problem_of_value(const Json *value, const LetterField &field,
                                            std::size_t element, const LetterLine &line)
{
    if (is_missing(value))
        return field.is_needed ? std::optional(place_of(field, element) + " is missing")
                               : std::nullopt;
    if (field.type == FieldType::nothing)
        return place_of(field, element) + " may not be there";
    return fits(*value, field, line) ? std::nullopt
                                     : std::optional(place_of(field, element) + " is wrong");
}

// The rule for a list precedes those for its elements, so here it is a list if it is present.
std::optional<std::string> problem_of_elements(const Json &body, const LetterField &field,
                                               const LetterLine &line)
{
    const Json *list = body.find(field.list);
    if (is_missing(list))
        return std::nullopt;
    for (std::size_t i = 0; i < list->elements.size(); ++i) {
        const Json &element = list->elements[i];
        if (!field.name.empty() && element.kind != Json::Kind::object)
            return std::string(field.list) + "[" + std::to_string(i) + "] is no object";
        const Json *value = field.name.empty() ? &element : element.find(field.name);
        if (auto problem = problem_of_value(value, field, i, line))
            return problem;
    }
    return std::nullopt;
}

bool may_send(int sender, const LetterKind &kind)
{
    return kind.senders == Senders::all ||
           kind.senders == (sender == router_node ? Senders::router : Senders::shards);
}

std::string shown(std::string_view instance, int sender, int node)
{
    constexpr std::size_t enough = 100;
    return "node " + std::to_string(sender) + " of instance \"" +
           std::string(
               instance.substr(0, utf8_border(instance, std::min(enough, instance.size())))) +
           "\" to node " + std::to_string(node);
}

}  // namespace

const Json *Json::find(std::string_view name) const
{
    const auto found =
        std::ranges::find_if(fields, [&](const auto &field) { return field.first == name; });
    return found == fields.end() ? nullptr : &found->second;
}

std::span<const LetterKind> letter_kinds()
{
    return kinds;
}

const LetterKind *find_letter_kind(std::string_view name)
{
    const auto *const found = std::ranges::find(kinds, name, &LetterKind::name);
    return found == kinds.end() ? nullptr : found;
}

std::optional<std::string> problem_of_head(const LetterHead &head, const LetterLine &line)
{
    if (head.instance != line.instance || head.sender != line.sender || head.node != line.receiver)
        return "it says that it is from " + shown(head.instance, head.sender, head.node);
    const LetterKind *kind = find_letter_kind(head.kind);
    if (kind == nullptr)
        return is_valid_name(head.kind) ? std::nullopt
                                        : std::optional<std::string>("its kind is no name");
    if (!may_send(line.sender, *kind))
        return std::string(line.sender == router_node ? "the router" : "a shard") +
               " does not send \"" + std::string(kind->name) + "\"";
    if (kind->has_jobs && !head.has_jobs)
        return "its jobs are missing";
    return std::nullopt;
}

std::optional<std::string> problem_of_body(const LetterKind &kind, const Json *body,
                                           const LetterLine &line)
{
    if (!kind.has_body)
        return std::nullopt;
    if (body == nullptr)
        return kind.needs_body ? std::optional<std::string>("its body is missing") : std::nullopt;
    if (body->kind != Json::Kind::object)
        return "its body is no object";
    for (const LetterField &field : kind.fields) {
        auto problem = field.list.empty() ? problem_of_value(body->find(field.name), field, 0, line)
                                          : problem_of_elements(*body, field, line);
        if (problem.has_value())
            return problem;
    }
    return std::nullopt;
}

bool may_send_job(int sender, std::int64_t id)
{
    const auto parts = decompose_id(id);
    return parts.has_value() &&
           (sender == router_node || parts->slot != router_slot || parts->node == sender);
}

}  // namespace hipq::core
