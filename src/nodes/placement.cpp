// Places jobs by their shard keys.
#include "nodes/nodes.hpp"

#include "catalog/cache.hpp"
#include "core/job/bounds.hpp"
#include "core/job/validate.hpp"
#include "core/shards/ids.hpp"
#include "core/shards/shard_key.hpp"
#include "job/job_row.hpp"
#include "pg/demand.hpp"
#include "shared/wakeup/commit.hpp"

#include <charconv>

extern "C" {
#include "commands/sequence.h"
#include "utils/jsonb.h"
}

namespace hipq::nodes {

namespace {

using core::Column;

// Within an array a number is an index, as with ->>.
const JsonbValue *step_into(const JsonbValue *from, const std::string &name)
{
    if (from == nullptr || from->type != jbvBinary)
        return nullptr;
    JsonbContainer *container = from->val.binary.data;
    if (JsonContainerIsObject(container))
        return ::getKeyJsonValueFromContainer(container, name.data(), static_cast<int>(name.size()),
                                              nullptr);
    std::uint32_t index = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), index);
    const bool is_index = parsed.ec == std::errc() && parsed.ptr == name.data() + name.size();
    return is_index && JsonContainerIsArray(container)
               ? ::getIthJsonbValueFromContainer(container, index)
               : nullptr;
}

// Returns the value as ->> would; null if there is none. Call inside pg::call() only.
const char *text_at(Datum json, const std::vector<std::string> &path)
{
    JsonbValue root{};
    ::JsonbToJsonbValue(DatumGetJsonbP(json), &root);
    const JsonbValue *value = &root;
    for (const std::string &name : path)
        value = step_into(value, name);
    if (value == nullptr || value->type == jbvNull)
        return nullptr;
    if (value->type == jbvString)
        return ::pnstrdup(value->val.string.val, value->val.string.len);
    Jsonb *whole = ::JsonbValueToJsonb(const_cast<JsonbValue *>(value));
    return ::JsonbToCString(nullptr, &whole->root, VARSIZE_ANY(whole));
}

std::optional<std::string> text_of(const job::RowValues &job, Column column)
{
    if (job.null(column) || job.as_text(column) == core::none_text)
        return std::nullopt;
    return std::string(job.as_text(column));
}

std::string_view text_or_none(const job::RowValues &job, Column column)
{
    return job.null(column) ? core::none_text : job.as_text(column);
}

// If a job has a key that is unique within its shard key, the row and its index must contain the
// shard key.
void demand_short_shard_key(const job::RowValues &job, const catalog::Queue &queue,
                            const std::string &shard_key)
{
    if (queue.has_keys_by_shard() && text_or_none(job, Column::job_key) != core::none_text)
        pg::demand(core::check_size_of("shard_key", shard_key.size(), core::most_shard_key));
}

void keep_shard_key(job::RowValues &job, const catalog::Queue &queue,
                    const std::optional<std::string> &shard_key)
{
    if (!shard_key.has_value())
        return;
    if (shard_key->size() > core::most_shard_key) {
        demand_short_shard_key(job, queue, *shard_key);
        return;  // one that is too long is used for placing, but is not stored
    }
    job.set(Column::shard_key, pg::call([&] {
                return PointerGetDatum(::cstring_to_text_with_len(
                    shard_key->data(), static_cast<int>(shard_key->size())));
            }));
}

int slot_by(const std::optional<std::string> &shard_key, const job::RowValues &job,
            const catalog::Queue &queue, std::int64_t number)
{
    const core::PlacedJob placed{queue.name, shard_key.has_value() ? *shard_key : core::none_text,
                                 job.as_text(Column::job_type), text_or_none(job, Column::job_key),
                                 number};
    return core::slot_of(core::placement_key(queue.placement(), placed));
}

}  // namespace

std::optional<std::string> shard_key_of(const job::RowValues &job, const catalog::Queue &queue)
{
    if (auto given = text_of(job, Column::shard_key))
        return given;
    if (!queue.shard_key.has_value())
        return std::nullopt;
    if (queue.shard_key->column.has_value())
        return text_of(job, *queue.shard_key->column);
    if (job.null(Column::job_data))
        return std::nullopt;
    const char *text =
        pg::call([&] { return text_at(job.value(Column::job_data), queue.shard_key->path); });
    return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

void fill_shard_key(job::RowValues &job, const catalog::Queue &queue)
{
    const bool is_needed = queue.shards != nullptr || queue.has_keys_by_shard();
    if (is_needed && queue.shard_key.has_value())
        keep_shard_key(job, queue, shard_key_of(job, queue));
}

int slot_if_placed_now(const job::RowValues &job, const catalog::Queue &queue, std::int64_t number)
{
    return queue.shard_key.has_value() ? slot_by(shard_key_of(job, queue), job, queue, number)
                                       : core::router_slot;
}

bool place_keys_alike(const catalog::Queue &one, const catalog::Queue &other)
{
    if (one.shard_key.has_value() != other.shard_key.has_value())
        return false;
    if (!one.shard_key.has_value())
        return true;  // all jobs are on the router
    const bool is_home = one.placement().throttle_mode == core::ThrottleMode::home;
    return is_home == (other.placement().throttle_mode == core::ThrottleMode::home) &&
           (!is_home || one.name == other.name);
}

void place(job::RowValues &job, const catalog::Queue &queue, Oid sequence)
{
    const std::int64_t number = pg::call([&] { return ::nextval_internal(sequence, false); });
    int slot = core::router_slot;
    if (queue.shard_key.has_value()) {
        const auto shard_key = shard_key_of(job, queue);
        keep_shard_key(job, queue, shard_key);
        slot = slot_by(shard_key, job, queue, number);
    }
    const auto id = core::compose_id({slot, queue.shards->own_node, number});
    if (!id.has_value())
        HIPQ_RAISE(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
                   errmsg("this server has used up the ids of its jobs"),
                   errdetail("A node of a sharded instance has 2^41 of them."));
    job.set(Column::id, Int64GetDatum(*id));
    wakeup::note_sign();
}

std::optional<int> destination(const catalog::Queue &queue, std::int64_t job_id)
{
    if (queue.shards == nullptr)
        return std::nullopt;
    const auto parts = core::decompose_id(job_id);
    const core::Route route = core::route(queue.shards->map, queue.shards->own_node,
                                          parts.has_value() ? parts->slot : core::router_slot);
    if (route.way == core::Way::unknown)
        HIPQ_RAISE(
            errcode(ERRCODE_DATA_CORRUPTED),
            errmsg("the map of the shards of instance \"%s\" is damaged", queue.instance.c_str()),
            errhint("See hipq.shards."));
    return route.way == core::Way::own ? std::nullopt : std::optional(route.node);
}

}  // namespace hipq::nodes
