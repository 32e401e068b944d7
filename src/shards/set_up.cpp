// Sets up here what the router has, and sends the set-up to shards.
#include "shards/set_up.hpp"

#include "admin/admin.hpp"
#include "core/shards/letter_errors.hpp"
#include "pg/internal_write.hpp"
#include "pg/subtransaction.hpp"

namespace hipq::shards {

namespace {

constinit pg::Statement apply("SELECT count(*) FROM hipq.apply($1)");

// Sections build on each other. $1: the set-up. A router before 0.3.0 does not send a queue's mode
// if it is home, which was the default.
constinit pg::Statement select_parts(R"(
    SELECT jsonb_build_object(section.name, (
               SELECT coalesce(jsonb_agg(CASE section.name WHEN 'queues' THEN '{"throttle_mode": "home"}'::jsonb ELSE '{}' END || object.line
                                         ORDER BY object.place), '[]')
               FROM pg_catalog.jsonb_array_elements($1 -> section.name) WITH ORDINALITY AS object (line, place))),
           jsonb_array_length($1 -> section.name)
    FROM unnest('{instances,queues,job_types,pauses}'::text[]) WITH ORDINALITY AS section (name, place)
    WHERE $1 ? section.name
    ORDER BY section.place)");
constinit pg::Statement select_half(R"(
    SELECT jsonb_object_agg(part.key, (
        SELECT coalesce(jsonb_agg(object.line ORDER BY object.place), '[]')
        FROM pg_catalog.jsonb_array_elements(part.value) WITH ORDINALITY AS object (line, place)
        WHERE object.place > $2 AND object.place <= $3))
    FROM pg_catalog.jsonb_each($1) AS part)");

constinit pg::Statement select_ended_pauses(R"(
    SELECT here.pause ->> 'queue', here.pause ->> 'job_type', here.pause ->> 'throttle_key', here.pause ->> 'instance'
    FROM pg_catalog.jsonb_array_elements(hipq._set_up_of($1) -> 'pauses') AS here (pause)
    WHERE NOT EXISTS (
        SELECT
        FROM pg_catalog.jsonb_array_elements($2 -> 'pauses') AS there (pause)
        WHERE here.pause - '{reason,until}'::text[] = there.pause - '{reason,until}'::text[]))");

constinit pg::Statement
    resume("SELECT hipq.resume(queue => $1, job_type => $2, throttle_key => $3, instance => $4)");

// {"app.mail": ["run"]}: what must not be dropped here.
constinit pg::Statement note_router_has(R"(
    UPDATE hipq.shard_map AS map
    SET router_has = (
        SELECT coalesce(jsonb_object_agg(queue.line ->> 'queue', coalesce(of_queue.types, '[]')), '{}')
        FROM pg_catalog.jsonb_array_elements($2 -> 'queues') AS queue (line)
        LEFT JOIN (
            SELECT type.line ->> 'queue', jsonb_agg(type.line -> 'job_type')
            FROM pg_catalog.jsonb_array_elements($2 -> 'job_types') AS type (line)
            GROUP BY type.line ->> 'queue'
        ) AS of_queue (queue, types) ON of_queue.queue = queue.line ->> 'queue')
    FROM hipq.instance AS instance
    WHERE instance.instance_id = map.instance_id AND instance.name = $1)");

constinit pg::Statement send_to_one("SELECT hipq._send_set_up($1, $2)");

constinit bool is_taking = false;

class Taking {
public:
    Taking() : before_(std::exchange(is_taking, true)) {}
    ~Taking() { is_taking = before_; }
    Taking(const Taking &) = delete;
    Taking &operator=(const Taking &) = delete;

private:
    bool before_;
};

void warn(const std::string &instance, const pg::Error &error)
{
    pg::call([&] {
        ereport(WARNING, errcode(error.sqlerrcode()),
                errmsg("cannot set up all of instance \"%s\" as its router has it: %s",
                       instance.c_str(), error.message().c_str()),
                errdetail("The rest is set up. It is tried again with the next change."),
                errhint("Make here what is missing, a role or a handler, and call "
                        "hipq.alter_queue() or the like on the router."));
    });
}

// Halves the set-up, so that what is missing here for one tenant does not keep the set-up of others
// from being applied. A server in trouble is not the set-up's fault; what may fit later is waited
// for.
void apply_what_fits(const std::string &instance, pg::RawValue part, std::int64_t count)
{
    const auto error = pg::in_subtransaction(pg::Ending::kept, [&] { apply.run(part); });
    if (!error.has_value())
        return;
    if (!core::is_about_sent_job(error->sqlstate()) || core::may_fit_later(error->sqlstate()))
        throw *error;  // NOLINT(cert-err60-cpp): as it came
    if (count <= 1) {
        warn(instance, *error);
        return;
    }
    const std::int64_t half = count / 2;
    apply_what_fits(instance, select_half.run(part, std::int64_t{0}, half).front().raw(0), half);
    apply_what_fits(instance, select_half.run(part, half, count).front().raw(0), count - half);
}

}  // namespace

void take_set_up(const std::string &instance, pg::RawValue set_up)
{
    const Taking taking;
    pg::as_hipq([&] { note_router_has.run(instance, set_up); });
    const admin::DefaultNamesOnly no_code;
    pg::as_extension_owner([&] {
        for (const pg::Row part : select_parts.run(set_up))
            apply_what_fits(instance, part.raw(0), part.integer(1));
        for (const pg::Row row : select_ended_pauses.run(instance, set_up))
            resume.run(row.maybe_text(0), row.maybe_text(1), row.maybe_text(2), row.maybe_text(3));
    });
}

bool is_taking_set_up()
{
    return is_taking;
}

void send_set_up(const std::string &instance, int node)
{
    send_to_one.run(instance, node);
}

}  // namespace hipq::shards
