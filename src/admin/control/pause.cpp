// hipq.pause and hipq.resume: a pause is a row of the catalogue, so every process knows of it
// before its next claim; resumed jobs are looked for as soon as the transaction has committed.
// end_of_pause.cpp ends pauses that have an end.
#include "admin/control/end_of_pause.hpp"

#include "catalog/cache.hpp"
#include "catalog/checks.hpp"
#include "catalog/rights.hpp"
#include "core/job/validate.hpp"
#include "pg/arguments.hpp"
#include "pg/clock.hpp"
#include "pg/internal_write.hpp"
#include "recovery/recovery.hpp"
#include "settings.hpp"
#include "shared/wakeup/commit.hpp"

namespace hipq::admin {

namespace {

using catalog::Privilege;
using catalog::Queue;

constinit pg::Statement
    select_instance("SELECT instance_id FROM hipq.instance WHERE name = $1 FOR KEY SHARE");
constinit pg::Statement
    lock_queue("SELECT 1 FROM hipq.queue WHERE queue_id = $1 AND NOT is_dropped FOR KEY SHARE");
constinit pg::Statement
    lock_job_type("SELECT 1 FROM hipq.job_type WHERE queue_id = $1 AND name = $2 FOR KEY SHARE");

constinit pg::Statement insert_pause(R"(
    INSERT INTO hipq.pause (instance_id, queue_id, job_type, throttle_key, paused_by, paused_time, reason)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT DO NOTHING)");

// The same with its end, a column that tables of 0.2.0 lack.
constinit pg::Statement insert_pause_until(R"(
    INSERT INTO hipq.pause (instance_id, queue_id, job_type, throttle_key, paused_by, paused_time, reason, paused_until)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT DO NOTHING)");

#define HIPQ_THAT_PAUSE                                                                            \
    "instance_id IS NOT DISTINCT FROM $1 AND queue_id IS NOT DISTINCT FROM $2 "                    \
    "AND job_type IS NOT DISTINCT FROM $3 AND throttle_key IS NOT DISTINCT FROM $4"

// A hold after crashes gets no end.
constinit pg::Statement
    lock_pause("SELECT crashes IS NULL AND paused_until IS DISTINCT FROM $5 FROM hipq.pause "
               "WHERE " HIPQ_THAT_PAUSE " FOR UPDATE");
constinit pg::Statement
    change_end("UPDATE hipq.pause SET paused_until = $5, paused_by = $6, "
               "reason = coalesce(nullif($7, 'NONE'), reason) WHERE " HIPQ_THAT_PAUSE);
constinit pg::Statement delete_pause("DELETE FROM hipq.pause WHERE " HIPQ_THAT_PAUSE);

// ---- the caller's names ----

struct Names {
    std::optional<std::string> queue;
    std::optional<std::string> job_type;
    std::optional<std::string> throttle_key;
    std::optional<std::string> instance;
};

[[noreturn]] void refuse(const char *message, const char *hint)
{
    HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s", message),
               errhint("%s", hint));
}

void check(const Names &names)
{
    if (!names.queue.has_value() && !names.instance.has_value())
        refuse("neither a queue nor an instance is given",
               "Name the queue, and a job type in it if only that is meant.");
    if (names.queue.has_value() && names.instance.has_value())
        refuse("both a queue and an instance are given",
               "Name one of them: an instance stands for all its queues.");
    if (names.instance.has_value() &&
        (names.job_type.has_value() || names.throttle_key.has_value()))
        refuse("an instance has no job types", "Name the queue of the job type instead.");
    if (names.throttle_key.has_value() && !names.job_type.has_value())
        refuse("throttle_key is given without job_type",
               "Name the job type whose jobs have that key.");
    if (names.throttle_key == core::none_text)
        refuse("throttle_key \"NONE\" is no key",
               "To name all jobs of the type leave throttle_key out.");
    if (names.throttle_key.has_value())
        pg::demand(core::check_throttle_key(*names.throttle_key));
}

// ---- what the names mean ----

struct Target {
    std::optional<std::int32_t> instance_id;
    std::optional<std::int32_t> queue_id;
    std::optional<std::string> job_type;
    std::optional<std::string> throttle_key;
    std::vector<const Queue *> queues;  // the queues concerned

    // Runs a statement with the four parts of the name, and more.
    template <class... Arguments>
    pg::Rows run(pg::Statement &statement, const Arguments &...arguments) const
    {
        return statement.run(instance_id, queue_id, job_type, throttle_key, arguments...);
    }
};

[[noreturn]] void raise_unknown_instance(const std::string &name)
{
    HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
               errmsg("instance \"%s\" does not exist", name.c_str()),
               errhint("View hipq.instances lists the instances that you may look at."));
}

// A role that controls all queues of an instance may pause it. Only a superuser may pause one
// without queues.
void require_control(const std::vector<const Queue *> &queues, const std::string &instance)
{
    const Oid role = catalog::caller();
    if (queues.empty() && pg::call([] { return ::superuser(); }))
        return;
    if (std::none_of(queues.begin(), queues.end(),
                     [&](const Queue *queue) { return catalog::has_any_right(role, *queue); }))
        raise_unknown_instance(instance);
    if (!std::all_of(queues.begin(), queues.end(), [&](const Queue *queue) {
            return catalog::may(role, *queue, Privilege::control);
        }))
        HIPQ_RAISE(
            errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
            errmsg("permission denied for instance \"%s\"", instance.c_str()),
            errdetail("Privilege \"control\" on each of its queues is needed."),
            errhint("Name a queue, or have the queue owners grant it with hipq.grant_queue()."));
}

Target instance_target(const catalog::Catalogue &catalogue, const std::string &name)
{
    Target target{};
    for (const auto &[id, queue] : catalogue.queues)
        if (!queue.is_dropped && queue.instance == name)
            target.queues.push_back(&queue);
    require_control(target.queues, name);
    const pg::Rows rows = pg::as_hipq([&] { return select_instance.run(name); });
    if (rows.empty())
        raise_unknown_instance(name);
    target.instance_id = rows.front().integer32(0);
    return target;
}

Target queue_target(const catalog::Catalogue &catalogue, const Names &names)
{
    const Queue &queue = catalog::require_known_queue(catalogue, *names.queue);
    catalog::require(queue, Privilege::control);
    pg::as_hipq([&] {
        if (lock_queue.run(queue.id).empty())
            catalog::require_queue(catalog::Catalogue{}, *names.queue);
        if (names.job_type.has_value() && lock_job_type.run(queue.id, *names.job_type).empty())
            catalog::raise_unknown_type(*names.job_type, queue.full_name());
    });
    return {std::nullopt, queue.id, names.job_type, names.throttle_key, {&queue}};
}

Target target_of(const catalog::Catalogue &catalogue, const Names &names)
{
    check(names);
    return names.instance.has_value() ? instance_target(catalogue, *names.instance)
                                      : queue_target(catalogue, names);
}

// ---- how many keys ----

// $1 queue, $2 limit
constinit pg::Statement count_paused_keys(R"(
    SELECT count(*)
    FROM (SELECT FROM hipq.pause WHERE queue_id = $1 AND throttle_key IS NOT NULL LIMIT $2) AS paused)");

// Raises 54000 if more keys of the queue are paused than may be, including the new one. Does not
// apply to superusers. Each open transaction may bring the queue to its limit by itself.
void demand_key_quota(const Queue &queue)
{
    const std::int64_t most = settings::max_paused_keys;
    if (pg::call([] { return ::superuser(); }) ||
        pg::as_hipq([&] {
            return count_paused_keys.run_latest(queue.id, most + 1).front().integer(0);
        }) <= most)
        return;
    const std::string name = queue.full_name();
    HIPQ_RAISE(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
               errmsg("queue \"%s\" has too many paused throttle keys", name.c_str()),
               errdetail("As many as may be are paused (hipq.max_paused_keys = %d).",
                         settings::max_paused_keys),
               errhint("Pause the job type, or have the setting raised."));
}

// ---- pause and resume ----

// What pause() says of a pause.
struct Wanted {
    std::string by;
    std::string reason;
    std::optional<pg::Time> until;
    bool may_have_end;  // false: the tables are those of 0.2.0
};

// The end of a pause that begins now.
std::optional<pg::Time> end_of(const pg::Arguments &arguments, pg::Time now)
{
    const auto given = arguments.maybe_time_or_duration(pg::Argument::later("until"));
    if (!given.has_value())
        return std::nullopt;
    const pg::Time until = given->at(now);
    if (until >= pg::far_time)
        refuse("until is not before the year 9999",
               "Leave it out: then only hipq.resume() ends the pause.");
    if (until <= now) {
        const std::string text = pg::clock_text(until);
        const std::string present = pg::clock_text(now);
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("until is not in the future"),
                   errdetail("It is %s, and now it is %s.", text.c_str(), present.c_str()),
                   errhint("Give a later time, or a duration from now, such as '2 hours'."));
    }
    return until;
}

bool insert(const Target &target, const Wanted &wanted, pg::Time now)
{
    const pg::Rows rows =
        wanted.until.has_value()
            ? target.run(insert_pause_until, wanted.by, now, wanted.reason, wanted.until)
            : target.run(insert_pause, wanted.by, now, wanted.reason);
    return rows.processed() == 1;
}

// Gives a pause the end that the caller wants. Returns false if it has just ended.
bool change(const Target &target, const Wanted &wanted)
{
    const pg::Rows found = target.run(lock_pause, wanted.until);
    if (!found.empty() && found.front().boolean(0))
        target.run(change_end, wanted.until, wanted.by, wanted.reason);
    return !found.empty();
}

// Returns whether it was not paused before.
bool insert_or_change(const Target &target, const Wanted &wanted, pg::Time now)
{
    bool is_new = insert(target, wanted, now);
    while (!is_new && wanted.may_have_end && !change(target, wanted))
        is_new = insert(target, wanted, now);
    return is_new;
}

bool pause(const Names &names, const pg::Arguments &arguments)
{
    const pg::Time now = pg::now();
    const auto until = end_of(arguments, now);
    const auto catalogue = catalog::catalogue();
    const Target target = target_of(*catalogue, names);
    const auto reason = arguments.maybe_text("reason");
    const Wanted wanted{catalog::require_role(catalog::caller()),
                        reason.has_value() && !reason->empty() ? *reason
                                                               : std::string(core::none_text),
                        until, arguments.takes("until")};
    const bool is_new = pg::as_hipq([&] { return insert_or_change(target, wanted, now); });
    if (until.has_value())
        wakeup::note_look_at(*until);
    if (is_new && target.throttle_key.has_value())
        demand_key_quota(*target.queues.front());
    return is_new;
}

bool resume(const Names &names)
{
    const auto catalogue = catalog::catalogue();
    const Target target = target_of(*catalogue, names);
    const bool was_paused = pg::as_hipq([&] { return target.run(delete_pause).processed() == 1; });
    const bool is_whole_queue = target.queue_id.has_value() && !target.job_type.has_value();
    const bool was_held = is_whole_queue && recovery::forget_dead_letter_crashes(*target.queue_id);
    if (!was_paused && !was_held)
        return false;
    note_end_of_pause(target.queues, target.throttle_key.has_value());
    return true;
}

}  // namespace

}  // namespace hipq::admin

HIPQ_FUNCTION(hipq_pause)
{
    const hipq::pg::Arguments arguments(fcinfo);
    return hipq::pg::return_bool(
        hipq::admin::pause({arguments.maybe_text("queue"), arguments.maybe_text("job_type"),
                            arguments.maybe_text("throttle_key"), arguments.maybe_text("instance")},
                           arguments));
}

HIPQ_FUNCTION(hipq_resume)
{
    const hipq::pg::Arguments arguments(fcinfo);
    return hipq::pg::return_bool(hipq::admin::resume(
        {arguments.maybe_text("queue"), arguments.maybe_text("job_type"),
         arguments.maybe_text("throttle_key"), arguments.maybe_text("instance")}));
}
