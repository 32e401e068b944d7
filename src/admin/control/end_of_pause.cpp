// Ends pauses whose time is over, by deleting their rows as hipq.resume() does.
//
// A pause holds as long as its row is there, so all processes agree when it ends, and a clock that
// is set back does not bring it back.
#include "admin/control/end_of_pause.hpp"

#include "admin/admin.hpp"
#include "pg/clock.hpp"
#include "pg/internal_write.hpp"
#include "pg/transaction.hpp"
#include "process/process.hpp"
#include "shared/wakeup/commit.hpp"

namespace hipq::admin {

namespace {

using catalog::Catalogue;
using catalog::Queue;
using core::Duty;

constexpr std::int64_t retry_interval = 1'000'000;  // us
constexpr std::int64_t pauses_at_once = 1'000;

// Tables of 0.2.0 lack the column: there no pause ends by itself.
constinit pg::Statement select_column_of_ends(
    "SELECT FROM pg_attribute WHERE attrelid = 'hipq.pause'::regclass AND attname = "
    "'paused_until'");

constinit pg::Statement select_places_with_end(R"(
    SELECT pause.instance_id, pause.queue_id, count(*)
    FROM hipq.pause AS pause
    WHERE pause.paused_until <= $1
    GROUP BY pause.instance_id, pause.queue_id)");
constinit pg::Statement select_next_end(
    "SELECT min(pause.paused_until) FROM hipq.pause AS pause WHERE pause.paused_until > $1");

// $1 now, $2 instance, $3 queue, $4 limit. A row that another session has locked, and may be about
// to change, is left for later.
constinit pg::Statement delete_ended(R"(
    DELETE FROM hipq.pause
    WHERE ctid = ANY (ARRAY(
        SELECT pause.ctid
        FROM hipq.pause AS pause
        WHERE pause.paused_until <= $1 AND pause.instance_id IS NOT DISTINCT FROM $2
          AND pause.queue_id IS NOT DISTINCT FROM $3
        LIMIT $4
        FOR UPDATE SKIP LOCKED))
    RETURNING throttle_key IS NOT NULL)");

// Where pauses have ended: an instance, or a queue.
struct EndedPlace {
    std::optional<std::int32_t> instance_id;
    std::optional<std::int32_t> queue_id;
    std::int64_t pauses;
};

std::optional<std::int32_t> number(const pg::Row &row, int column)
{
    return row.null(column) ? std::nullopt : std::optional(row.integer32(column));
}

struct Ends {
    std::vector<EndedPlace> places{};
    pg::Time next = pg::infinity;  // when the first of the other pauses ends
};

bool has_ends()
{
    return !select_column_of_ends.run_latest().empty();
}

// Needs a transaction.
Ends read_ends(pg::Time now)
{
    Ends ends;
    if (!has_ends())
        return ends;
    for (const pg::Row row : select_places_with_end.run_latest(now))
        ends.places.push_back({number(row, 0), number(row, 1), row.integer(2)});
    if (const pg::Rows rows = select_next_end.run_latest(now); !rows.front().null(0))
        ends.next = rows.front().time(0);
    return ends;
}

std::vector<const Queue *> queues_at(const Catalogue &catalogue, const EndedPlace &place)
{
    if (place.instance_id.has_value())
        return queues_of_instance(catalogue, *place.instance_id);
    const Queue *queue = catalogue.find(*place.queue_id);
    return queue == nullptr ? std::vector<const Queue *>() : std::vector{queue};
}

// Ends a limited number of pauses, and returns how many. Needs a transaction.
std::int64_t end_some(const EndedPlace &place, std::span<const Queue *const> queues, pg::Time now)
{
    return pg::as_hipq([&] {
        const pg::Rows ended =
            delete_ended.run(now, place.instance_id, place.queue_id, pauses_at_once);
        bool is_of_key = false;
        for (const pg::Row row : ended)
            is_of_key = is_of_key || row.boolean(0);
        if (!ended.empty())
            note_end_of_pause(queues, is_of_key);
        return static_cast<std::int64_t>(ended.size());
    });
}

// Returns whether all of them have ended.
bool end_at(const EndedPlace &place, const Catalogue &catalogue, pg::Time now)
{
    const std::vector<const Queue *> queues = queues_at(catalogue, place);
    const Queue *queue = place.queue_id.has_value() && !queues.empty() ? queues.front() : nullptr;
    std::int64_t left = place.pauses;
    const auto end_all = [&] {
        for (std::int64_t ended = pauses_at_once; ended == pauses_at_once; left -= ended) {
            process::check_interrupts();
            pg::with_transaction([&] { ended = end_some(place, queues, now); });
        }
    };
    return process::do_duty(Duty::pauses, queue, end_all) && left <= 0;
}

}  // namespace

void note_end_of_pause(std::span<const Queue *const> queues, bool is_of_key)
{
    wakeup::note_catalogue_change();
    if (is_of_key)
        for (const Queue *queue : queues)
            wakeup::note_resumed_key(queue->id);
    for (const Queue *queue : queues)
        wakeup::note_waiting(queue->owner, pg::now(), pg::infinity);
}

std::vector<const Queue *> queues_of_instance(const Catalogue &catalogue, int instance_id)
{
    std::vector<const Queue *> queues;
    for (const auto &[id, queue] : catalogue.queues)
        if (!queue.is_dropped && queue.instance_id == instance_id)
            queues.push_back(&queue);
    return queues;
}

pg::Time end_pauses(const Catalogue &catalogue, pg::Time now)
{
    Ends ends{{}, now + retry_interval};
    process::do_duty(Duty::pauses, nullptr,
                     [&] { pg::with_transaction([&] { ends = read_ends(now); }); });
    for (const EndedPlace &place : ends.places)
        if (!end_at(place, catalogue, now))
            ends.next = std::min(ends.next, now + retry_interval);
    return ends.next;
}

void end_pauses_of(const Catalogue &catalogue, const Queue &queue, pg::Time now)
{
    if (!pg::as_hipq(has_ends))
        return;
    const std::array<EndedPlace, 2> places{
        {{queue.instance_id, std::nullopt, 0}, {std::nullopt, queue.id, 0}}};
    for (const EndedPlace &place : places) {
        const std::vector<const Queue *> queues = queues_at(catalogue, place);
        while (end_some(place, queues, now) == pauses_at_once) {
        }
    }
}

}  // namespace hipq::admin
