// hipq.cancel: ends a job that waits or stands in `error` in its row, a running one by a request to the executor that has it in
// hand.
#include "api/arguments.hpp"
#include "pg/clock.hpp"
#include "shmem/watch.hpp"
#include "storage/find_job.hpp"
#include "storage/settle.hpp"

namespace hipq::api {

namespace {

// A job that is being claimed, finished or settled can be cancelled neither way for a moment: then it is looked at again.
constexpr int most_looks = 50;
constexpr long pause_microseconds = 10'000;

enum class Outcome : unsigned char { cancelled, too_late, look_again, no_room };

Outcome cancel_in_its_row(const storage::FoundJob &job, const std::string &error)
{
    const storage::Failure failure{core::Reason::cancelled, "", error};
    return storage::end_cancelled(*job.queue, job.id, failure, pg::now()) ? Outcome::cancelled : Outcome::look_again;
}

Outcome try_to_cancel(const storage::FoundJob &job, const std::string &error)
{
    if (job.state == core::JobState::final)
        return Outcome::too_late;
    const auto answer =
        shmem::is_loaded() ? shmem::request_cancellation(MyDatabaseId, job.id, error) : shmem::CancelAnswer::not_in_hand;
    switch (answer) {
    case shmem::CancelAnswer::placed:
        return Outcome::cancelled;
    case shmem::CancelAnswer::not_in_hand:
        return cancel_in_its_row(job, error);
    case shmem::CancelAnswer::no_room:
        return Outcome::no_room;
    case shmem::CancelAnswer::changing:
        break;
    }
    return Outcome::look_again;
}

[[noreturn]] void raise_no_room(std::int64_t id)
{
    HIPQ_RAISE(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
               errmsg("job %lld was not cancelled: too many running jobs are being cancelled", static_cast<long long>(id)),
               errhint("Try again when the first of them have ended."));
}

void pause()
{
    pg::call([] {
        CHECK_FOR_INTERRUPTS();
        ::pg_usleep(pause_microseconds);
    });
}

bool cancel(std::int64_t id, const std::optional<std::string> &reason, const std::optional<std::string> &queue)
{
    const std::string error = reason.has_value() && !reason->empty() ? "cancelled: " + *reason : "cancelled";
    const auto catalogue = storage::catalogue();
    storage::FoundJob job = storage::require_job(*catalogue, id, queue, storage::Privilege::control);
    Outcome outcome = try_to_cancel(job, error);
    for (int look = 1; look < most_looks && (outcome == Outcome::look_again || outcome == Outcome::no_room); ++look) {
        pause();
        job = storage::require_job(*catalogue, id, queue, storage::Privilege::control);
        outcome = try_to_cancel(job, error);
    }
    if (outcome == Outcome::no_room)
        raise_no_room(id);
    return outcome == Outcome::cancelled;
}

}  // namespace

}  // namespace hipq::api

HIPQ_FUNCTION(hipq_cancel)
{
    const hipq::api::Arguments arguments(fcinfo);
    return BoolGetDatum(hipq::api::cancel(arguments.integer64(0, "id"), arguments.maybe_text(1), arguments.maybe_text(2)));
}
