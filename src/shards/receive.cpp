// Applies a row that another node has sent, in the transaction that brings it.
//
// The apply worker writes rows as a replica does, without triggers and rules of the origin. A
// letter has the effect of a local call, so the session has the role of an origin meanwhile. The
// letter is checked as a whole before (letter_check.hpp).
#include "shards/receive.hpp"

#include "catalog/timeline.hpp"
#include "job/job_row.hpp"
#include "pg/internal_write.hpp"
#include "pg/subtransaction.hpp"
#include "shards/alive.hpp"
#include "shards/arrived_jobs.hpp"
#include "shards/end_of_sending.hpp"
#include "shards/incoming_slots.hpp"
#include "shards/letter_check.hpp"
#include "shards/map.hpp"
#include "shards/permits/authority.hpp"
#include "shards/permits/node_permits.hpp"
#include "shards/permits/permit_letters.hpp"
#include "shards/rejects.hpp"
#include "shards/send_stats.hpp"
#include "shards/set_up.hpp"
#include "shards/trouble.hpp"

#include <malloc.h>

extern "C" {
#include "commands/trigger.h"
#include "replication/logicalworker.h"
#include "replication/worker_internal.h"
}

namespace hipq::shards {

namespace {

// Sets the variable, not the setting, which would discard every plan of the process.
class AsOrigin {
public:
    AsOrigin() : before_(SessionReplicationRole)
    {
        SessionReplicationRole = SESSION_REPLICATION_ROLE_ORIGIN;
    }
    ~AsOrigin() { SessionReplicationRole = before_; }
    AsOrigin(const AsOrigin &) = delete;
    AsOrigin &operator=(const AsOrigin &) = delete;

private:
    int before_;
};

constinit pg::Statement insert_received(R"(
    INSERT INTO hipq.shard_received (instance, sender, id, sent_time) VALUES ($1, $2, $3, $4)
    ON CONFLICT DO NOTHING)");

constinit pg::Statement insert_reject_of_other(R"(
    INSERT INTO hipq.shard_reject
    SELECT (jsonb_populate_record(NULL::hipq.shard_reject, $1)).*)");

// A shard answers a move as soon as it reads of it. That may be before the router's processes see
// it, and before they are told to forget the previous map. By that map, jobs would go back to the
// node that they have left, and come again after the report that none is left there. The mover's
// lock outlasts all that. A mover takes the lock first, before rows of the map.
bool depends_on_moves(const Letter &letter)
{
    return letter.node == core::router_node &&
           (letter.kind == "jobs" || letter.kind == "moved" || letter.kind == "returned");
}

// Identifies the letter by the line that has brought it, whatever the letter says.
bool is_first_time(const Letter &letter, const OwnLine &line)
{
    return pg::as_hipq([&] {
        return insert_received.run(line.instance, line.sender, letter.id, letter.sent).processed() >
               0;
    });
}

void take_effect(const Letter &letter)
{
    if (letter.kind == "jobs" || letter.kind == "moved")
        take_jobs(letter);
    else if (letter.kind == "set_up")
        take_set_up(letter.instance, letter.body);
    else if (letter.kind == "map")
        take_map(letter.instance, letter.body);
    else if (letter.kind == "returned")
        take_returned(letter.instance, letter.sender, letter.body);
    else if (letter.kind == "last")
        take_last(letter.instance, letter.body);
    else if (letter.kind == "stats")
        take_stats(letter);
    else if (letter.kind == permit_ask)
        take_requests(letter.instance, letter.sender, letter.body);
    else if (letter.kind == permit_answer)
        take_answers(letter.instance, letter.node, letter.body);
    else if (letter.kind == "rejected")
        pg::as_hipq([&] { insert_reject_of_other.run(letter.body); });
    else if (letter.kind == "alive")
        take_sign(letter);
}

// A letter may be wrong in ways that the table of kinds does not cover. Other errors are about this
// server, and the letter waits.
bool is_about_letter(const pg::Error &error)
{
    const int category = ERRCODE_TO_CATEGORY(error.sqlerrcode());
    return category == ERRCODE_DATA_EXCEPTION || category == ERRCODE_CARDINALITY_VIOLATION ||
           category == ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION ||
           category == ERRCODE_PROGRAM_LIMIT_EXCEEDED;
}

// Letters of jobs and set-ups are never refused as a whole: take_effect() handles the error of each
// job, and of each part of a set-up, by itself.
bool can_be_refused(const Letter &letter)
{
    return letter.kind != "jobs" && letter.kind != "moved" && letter.kind != "set_up";
}

void take_effect_or_refuse(const Letter &letter, const OwnLine &line)
{
    if (!can_be_refused(letter)) {
        take_effect(letter);
        return;
    }
    const auto error = pg::in_subtransaction(pg::Ending::kept, [&] { take_effect(letter); });
    if (!error.has_value())
        return;
    if (!is_about_letter(*error))
        throw *error;  // NOLINT(cert-err60-cpp): as it came
    refuse(letter, line, error->sqlstate(), error->message());
}

bool take_once(const Letter &letter, const OwnLine &line)
{
    const AsOrigin as_origin;
    const auto problem = problem_of(letter, line);
    if (!problem.has_value() && depends_on_moves(letter))
        pg::as_hipq([] { wait_for_moves(); });
    if (!is_first_time(letter, line))
        return false;
    if (problem.has_value())
        refuse(letter, line, "22023", *problem);
    else
        take_effect_or_refuse(letter, line);
    return true;
}

// ---- the row ----

pg::RawValue value_of(const TriggerData &data, const char *column, Oid type)
{
    return pg::call([&] {
        TupleDesc descriptor = RelationGetDescr(data.tg_relation);
        const int place = ::SPI_fnumber(descriptor, column);
        bool is_null = true;
        const Datum value =
            place > 0 ? ::heap_getattr(data.tg_trigtuple, place, descriptor, &is_null) : Datum{0};
        return pg::RawValue{type, value, is_null};
    });
}

std::string text_of(const TriggerData &data, const char *column)
{
    const pg::RawValue value = value_of(data, column, TEXTOID);
    return value.null ? std::string() : job::text_of(value.value);
}

int node_of(const TriggerData &data, const char *column)
{
    return DatumGetInt16(value_of(data, column, INT2OID).value);
}

Letter read_letter(const TriggerData &data)
{
    return {DatumGetInt64(value_of(data, "id", INT8OID).value),
            pg::Time{DatumGetTimestampTz(value_of(data, "sent_time", TIMESTAMPTZOID).value)},
            text_of(data, "instance"),
            node_of(data, "sender"),
            node_of(data, "node"),
            text_of(data, "kind"),
            text_of(data, "queue"),
            value_of(data, "jobs", JSONBARRAYOID),
            value_of(data, "body", JSONBOID)};
}

// A letter takes a megabyte or two, and frees them at its end. glibc would return them to the
// system each time: a quarter of an apply worker's time went into getting them again.
void keep_memory_between_letters()
{
#ifdef __GLIBC__
    static const bool is_kept [[maybe_unused]] =
        ::mallopt(M_MMAP_THRESHOLD, 32 << 20) != 0 && ::mallopt(M_TRIM_THRESHOLD, 64 << 20) != 0;
#endif
}

}  // namespace

bool receive(const Letter &letter, const std::string &subscription)
{
    const auto line = line_of_subscription(subscription);
    if (!line.has_value())
        return false;
    if (!catalog::is_own_timeline(line->timeline))
        catalog::refuse_out_of_step(line->instance, line->own_node);
    keep_memory_between_letters();
    try {
        (void)take_once(letter, *line);
    } catch (const pg::Error &error) {
        note_trouble(letter, error);
        throw;
    }
    note_success(letter);
    return true;
}

bool receive_by_hand(const Letter &letter)
{
    const auto line = line_named_by(letter);
    if (!line.has_value())
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("this server takes no letters from node %d of instance \"%s\"",
                          letter.sender, letter.instance.c_str()),
                   errhint("A router takes those of its shards, a shard those of its router."));
    return take_once(letter, *line);
}

}  // namespace hipq::shards

HIPQ_FUNCTION(hipq__receive)
{
    if (!CALLED_AS_TRIGGER(fcinfo))
        HIPQ_RAISE(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                   errmsg("hipq._receive() is a trigger"));
    const auto *data = reinterpret_cast<TriggerData *>(fcinfo->context);
    // Rows that a letter causes are written by the same process, as hipq's own rows.
    const bool is_taken =
        ::IsLogicalWorker() && !hipq::pg::is_permitted() &&
        hipq::shards::receive(hipq::shards::read_letter(*data), ::MySubscription->name);
    return PointerGetDatum(is_taken ? nullptr : data->tg_trigtuple);
}
