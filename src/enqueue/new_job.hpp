// The rules for a new job, however it is enqueued: what its enqueuer may choose, and what hipq
// fills in.
#pragma once

#include "enqueue/start_values.hpp"

namespace hipq::enqueue {

// Converts a throttle_factor to the column's type, numeric; NULL for nothing. Raises 22023 if it is
// out of range.
pg::RawValue throttle_factor_of(const std::optional<double> &given);

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
// The part of these checks that does not depend on settings: a job that another server has accepted
// passes it, too.
void check_bounds(job::RowValues &job);

// Raises 22023 unless the time is within the years 1 to 9998, which the calendars of all drivers
// support. `name` is the user's name for it.
void demand_point_in_time(std::string_view name, pg::Time time);

// Raises 22023 for a job that could never start because it expires first. A job whose times are
// equal expires as soon as it is due.
void demand_expiry_after(pg::Time scheduled, pg::Time expires);

// The same for values that a user writes. A scheduled_run_time that equals the start of this
// transaction, or of the one that made the job, is the default and not chosen: such a job may have
// expired already. Call it for values that a user has changed, not for a job that a retry has put
// off.
void check_expiry(const job::RowValues &job);

// Checks chosen values against the caps of the queue's owner (core/job/job_caps.hpp): raises 22023.
// A value that equals the default of the job's type (null: unknown) is the owner's own choice and
// passes.
void check_caps(const job::RowValues &job, const catalog::Queue &queue,
                const catalog::JobType *type, const core::ColumnSet &given);

// Raises 23502 for a job without type.
void demand_job_type(const job::RowValues &job);

// Checks a job that a user is about to enqueue, which has a type, and its queue. Raises 55000 for a
// queue that is being dropped, 42704 for a type that a strict queue does not know, 54000 for an
// unregistered type if the queue has too many of these. Fills in parameters for which the type has
// defaults.
void check_new_job(job::RowValues &job, const catalog::Queue &queue);

// While an object of this class exists, the next new job gets this id, which give_id() has drawn
// for it.
class GivenId {
public:
    explicit GivenId(std::int64_t id);
    ~GivenId();
    GivenId(const GivenId &) = delete;
    GivenId &operator=(const GivenId &) = delete;
};

// Assigns an id, which determines the job's node in a sharded instance, and the trace of its call.
void give_id(job::RowValues &job, const catalog::Catalogue &catalogue, const catalog::Queue &queue);

// Fills in values that are not given: from the job's type, start values, and an id.
void fill_new_job(job::RowValues &job, const KnownCatalogue &catalogue,
                  const catalog::Queue &queue);

// Raises 23505 because ids that were drawn are in use.
[[noreturn]] void refuse_ids_in_use();

}  // namespace hipq::enqueue
