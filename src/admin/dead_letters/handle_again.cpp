// hipq.handle_again, handle_jobs_again: have the handler of dead letters called again.
#include "admin/dead_letters/chosen_letter.hpp"
#include "catalog/cache.hpp"
#include "catalog/checks.hpp"
#include "job/made_by_handler.hpp"
#include "pg/arguments.hpp"
#include "pg/internal_write.hpp"
#include "shared/wakeup/commit.hpp"

namespace hipq::admin {

namespace {

using catalog::Queue;

// Resets a dead letter as if its handler had never been called.
#define HIPQ_HANDLED_ANEW                                                                          \
    "UPDATE hipq.dead_letter SET awaits_handler = true, handled_time = NULL, handler_starts = 0, " \
    "handler_error = NULL, handler_retries = 0, handler_retry_time = NULL "                        \
    "WHERE queue_id = $1 AND job_id = "

constinit pg::Statement handle_letter(HIPQ_HANDLED_ANEW "$2");

constinit pg::Statement handle_letters(HIPQ_HANDLED_ANEW
                                       "ANY (ARRAY(SELECT letter.job_id" HIPQ_FILTERED_LETTERS
                                       " AND NOT letter.awaits_handler AND letter.reduced_because "
                                       "IS NULL" HIPQ_OLDEST_FIRST "))");

// A handler of dead letters cannot have handlers called, so that handlers cannot keep each other
// going.
void demand_no_circle()
{
    if (job::is_handling_letter())
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("a handler of dead letters cannot have one called again"),
                   errhint("It may redrive or retry the job."));
}

void demand_handler(const Queue &queue)
{
    const std::string name = queue.full_name();
    if (!queue.handles_dead_letters())
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("queue \"%s\" has no handler of dead letters", name.c_str()),
                   errhint("Use hipq.alter_queue() with dead_letter_handler."));
}

void handle_again(std::int64_t id)
{
    demand_no_circle();
    const auto catalogue = catalog::catalogue();
    const Queue *queue = find_controlled(*catalogue, id);
    if (queue == nullptr) {
        (void)call_elsewhere(*catalogue, {"handle_again", id, {}, std::nullopt, true});
        return;
    }
    demand_handler(*queue);
    const Letter letter = take_letter(*queue, id);
    if (letter.state != "waiting" && letter.state != "handled")
        raise_wrong_state(letter, "handle");
    if (letter.is_reduced)
        raise_reduced(letter, "handle");
    pg::as_hipq([&] { handle_letter.run(queue->id, id); });
    wakeup::note_look();
}

std::int64_t handle_jobs_again(const pg::Arguments &arguments)
{
    constexpr std::array<const char *, 2> states{"waiting", "handled"};
    demand_no_circle();
    const Filter filter{arguments.maybe_text("job_type"), arguments.maybe_text("reason"),
                        arguments.maybe_time("before").value_or(pg::infinity),
                        check_state(arguments.text("state"), states),
                        catalog::check_most(arguments.integer("max_jobs"))};
    const auto catalogue = catalog::catalogue();
    const Queue &queue = require_controlled(*catalogue, arguments.text("queue"));
    demand_handler(queue);
    const auto again = pg::as_hipq([&] {
        return static_cast<std::int64_t>(handle_letters
                                             .run(queue.id, filter.job_type, filter.reason,
                                                  filter.before, filter.state, filter.most)
                                             .processed());
    });
    wakeup::note_look();
    return again;
}

}  // namespace

}  // namespace hipq::admin

HIPQ_FUNCTION(hipq_handle_again)
{
    hipq::admin::handle_again(hipq::pg::Arguments(fcinfo).integer64("id"));
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq_handle_jobs_again)
{
    return Int64GetDatum(hipq::admin::handle_jobs_again(hipq::pg::Arguments(fcinfo)));
}
