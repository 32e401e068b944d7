// The rules for a new job, whichever way it comes: what its enqueuer may choose, and what hipq
// fills in.
#pragma once

#include "enqueue/start_values.hpp"

namespace hipq::enqueue {

// A throttle_factor as the column has it, numeric; NULL for nothing. 22023 for one that is out of
// range.
pg::RawValue throttle_factor_of(const std::optional<double> &given);

// While it lives, new jobs belong to the trace that their call has named, if any. 22023 for one
// that is malformed.
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

// Everything a user may choose, as given: NULL means "not given". Raises 22023 or 54000; puts time
// windows into their canonical form.
void check_chosen_values(job::RowValues &job);
// All of that which no setting decides: also what another server has accepted is within it.
void check_bounds(job::RowValues &job);

// 22023 unless the calendars of all drivers have the time: the years 1 to 9998. `name`: what the
// user calls it.
void demand_point_in_time(std::string_view name, pg::Time time);

// 22023 for a job that could never start, as it expires before. A job whose times are equal expires
// at once when it is due.
void demand_expiry_after(pg::Time scheduled, pg::Time expires);

// The same for what a user writes. A scheduled_run_time that is the start of this transaction, or
// of the one that made the job, is the default, not chosen: such a job may have expired already. To
// be called for what a user has changed, not for a job that a retry has put off.
void check_expiry(const job::RowValues &job);

// Of what is chosen, what the queue's owner has capped (core/job/job_caps.hpp): 22023. What the
// job's type (null: not known) gives is the owner's own choice.
void check_caps(const job::RowValues &job, const catalog::Queue &queue,
                const catalog::JobType *type, const core::ColumnSet &given);

// 23502 for a job without type.
void demand_job_type(const job::RowValues &job);

// What a user is about to enqueue, which has a type: its values, and the queue: 55000 for one that
// is being dropped, 42704 for a type that a strict queue does not know, 54000 for one that is not
// registered where too many are not. Fills in the parameters that the type has defaults for.
void check_new_job(job::RowValues &job, const catalog::Queue &queue);

// While it lives, the next new job gets this id, which give_id() has drawn for it.
class GivenId {
public:
    explicit GivenId(std::int64_t id);
    ~GivenId();
    GivenId(const GivenId &) = delete;
    GivenId &operator=(const GivenId &) = delete;
};

// An id, by which all know its place in a sharded instance, and the trace of its call.
void give_id(job::RowValues &job, const catalog::Catalogue &catalogue, const catalog::Queue &queue);

// Fills in what is not given: from the job's type, start values, and an id.
void fill_new_job(job::RowValues &job, const KnownCatalogue &catalogue,
                  const catalog::Queue &queue);

// 23505 for ids that were drawn and are in use.
[[noreturn]] void refuse_ids_in_use();

}  // namespace hipq::enqueue
