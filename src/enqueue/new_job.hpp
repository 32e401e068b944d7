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

}  // namespace hipq::enqueue
