// Finds, locks and refuses dead letters.
#include "admin/dead_letters/chosen_letter.hpp"

#include "catalog/cache.hpp"
#include "catalog/rights.hpp"
#include "job/dead_letter_rows.hpp"
#include "pg/internal_write.hpp"

namespace hipq::admin {

using catalog::Privilege;
using catalog::Queue;

namespace {

constinit pg::Statement lock_letter(R"(
    SELECT letter.job_type, letter.job_key, letter.state, letter.reduced_because IS NOT NULL
    FROM hipq.dead_letter AS letter
    WHERE letter.queue_id = $1 AND letter.job_id = $2
    FOR UPDATE SKIP LOCKED)");

}  // namespace

const Queue *find_controlled(const catalog::Catalogue &catalogue, std::int64_t id)
{
    const Queue *queue = job::find_queue_of_letter(catalogue, id);
    if (queue != nullptr)
        catalog::require(*queue, Privilege::control);
    return queue;
}

const Queue &require_controlled(const catalog::Catalogue &catalogue, const std::string &name)
{
    const Queue &queue = catalog::require_known_queue(catalogue, name);
    catalog::require(queue, Privilege::control);
    return queue;
}

std::string call_elsewhere(const catalog::Catalogue &catalogue, const nodes::Call &call)
{
    const auto answer = nodes::call(catalogue, call);
    if (!answer.has_value())
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
                   errmsg("job %lld has no dead letter", static_cast<long long>(call.id)),
                   errhint("View hipq.dead_letters shows those that there are; each goes after the "
                           "queue's dead_letter_retention."));
    return *answer;
}

Letter take_letter(const Queue &queue, std::int64_t id)
{
    const pg::Rows rows = pg::as_hipq([&] { return lock_letter.run(queue.id, id); });
    if (rows.empty())
        HIPQ_RAISE(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
                   errmsg("dead letter of job %lld is in use", static_cast<long long>(id)),
                   errdetail("Its handler runs, or another session has just changed it."),
                   errhint("Try again in a moment."));
    const pg::Row row = rows.front();
    return {&queue, id, row.text(0), row.text(1), row.text(2), row.boolean(3)};
}

void raise_wrong_state(const Letter &letter, const char *action)
{
    HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
               errmsg("cannot %s dead letter of job %lld in state \"%s\"", action,
                      static_cast<long long>(letter.job_id), letter.state.c_str()),
               letter.state == "redriven"
                   ? errhint("Column redriven_as of hipq.dead_letters_detail has the new job.")
                   : errhint("There is nothing to be done about it; it goes after its time."));
}

void raise_reduced(const Letter &letter, const char *action)
{
    HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
               errmsg("cannot %s dead letter of job %lld: it has no job_data", action,
                      static_cast<long long>(letter.job_id)),
               errdetail("The whole job could not be written into it; column reduced_because of "
                         "hipq.dead_letters_detail says why."),
               errhint("Use hipq.retry() while the final job is kept."));
}

std::optional<std::string> check_state(const std::optional<std::string> &state,
                                       std::span<const char *const> known)
{
    if (!state.has_value() || std::find(known.begin(), known.end(), *state) != known.end())
        return state;
    std::string list;
    for (const char *word : known)
        list.append(list.empty() ? "" : ", ").append(word);
    HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
               errmsg("state \"%s\" cannot be asked for", state->c_str()),
               errhint("States here: %s.", list.c_str()));
}

}  // namespace hipq::admin
