// The rules for a new job, however it is enqueued: what its enqueuer may choose, and what hipq
// fills in.
#pragma once

#include "catalog/cache.hpp"
#include "enqueue/enqueue.hpp"
#include "enqueue/start_values.hpp"
#include "job/job_row.hpp"

namespace hipq::enqueue {

// While an object of this class exists, new jobs belong to the trace that their call has given, if
// any. Raises 22023 for a malformed one.
class GivenTraceparent {
public:
    explicit GivenTraceparent(std::optional<std::string> traceparent);
    ~GivenTraceparent();
    GivenTraceparent(const GivenTraceparent &) = delete;
    GivenTraceparent &operator=(const GivenTraceparent &) = delete;

private:
    std::optional<std::string> traceparent_;
    const std::string *before_;
};

// Checks everything that a user may choose, as given: NULL means "not given". Raises 22023 or
// 54000; converts time windows to their canonical form.
void check_chosen_values(job::RowValues &job);

// Checks chosen values against the caps of the queue's owner (core/job/job_caps.hpp): raises 22023.
// A value that equals the default of the job's type (null: unknown) is the owner's own choice and
// passes.
void check_caps(const job::RowValues &job, const catalog::Queue &queue,
                const catalog::JobType *type, const core::ColumnSet &given);

// An id that RemoteJobs has drawn for a job of this node before the job is inserted; nothing: the
// insertion draws one.
using DrawnId = std::optional<std::int64_t>;

// While an object of this class exists, the guard trigger accepts a user's row with this id in this
// queue, holds its job, puts it into its batch, and gives it the time of its schedule.
class AcceptedId {
public:
    struct Row {
        int queue_id;
        DrawnId id;
        std::optional<core::WaitsFor> waits_for{};
        std::optional<std::int64_t> batch_id{};
        std::optional<pg::Time> schedule_time{};
    };
    explicit AcceptedId(const Row &row);
    ~AcceptedId();
    AcceptedId(const AcceptedId &) = delete;
    AcceptedId &operator=(const AcceptedId &) = delete;

private:
    Row before_;
};

// Whether an AcceptedId accepts the row, whose id may be NULL.
bool has_accepted_id(const job::RowValues &job);

// Notes a job that has been written: its lane or its hold, and its batch.
void note_new_job(Oid leaf, const job::RowValues &job, const catalog::Queue &queue);

// Assigns an id, which determines the job's node in a sharded instance, and the trace of its call.
void give_id(job::RowValues &job, const catalog::Catalogue &catalogue, const catalog::Queue &queue);
// The same with an id that is drawn already, and with the hold of AcceptedId, if it has that id.
void give_drawn_id(job::RowValues &job, std::int64_t id, const catalog::Queue &queue);

}  // namespace hipq::enqueue
