// External workers: registering, dispatch to them, and what they say of their jobs. What other
// rooms may use.
#pragma once

#include "catalog/cache.hpp"
#include "claim/claim.hpp"
#include "job/claimed_job.hpp"
#include "job/finish.hpp"
#include "pg/arguments.hpp"
#include "pg/spi.hpp"
#include "shared/workers/registered.hpp"

namespace hipq::external {

// ---- aim dispatch ----

// What a scheduler keeps of them from one look to the next.
struct Aims {
    unsigned seen = 0;       // databases::count_aims() at the last look; 0: there was none
    bool any = false;        // there were such jobs then
    pg::Time looked{0};      // when that was
    pg::Time not_before{0};  // reading them again sooner would take more of the scheduler's time
                             // than they are worth
};

// ---- dispatch ----

// What a scheduler keeps from one dispatch to the next.
struct Dispatcher {
    claim::Claimer claimer;
    std::set<std::int64_t> reported;  // jobs that made trouble, and were logged
    int first_queue = 0;              // whose turn it is to be looked at first
    Aims aims{};
    workers::JobShares
        shares{};  // at the beginning of a way through the lanes, and what was given since
};

// Gives away what is due as long as there are workers for it. The dispatch is the claim, made on
// behalf of the worker, who is told by NOTIFY on its channel when it has committed. It does not
// wait for the disk: a worker that accepts the job does (claim::accept()), and before that nobody
// has begun with it. Own transactions. Whether anything may run in this database the caller has
// asked. Returns when it is worth calling again even if nobody asks for it
// (databases::was_asked_for_dispatch()).
pg::Time dispatch(Dispatcher &dispatcher);

// ---- give up waiting ----

// Fails those that have been due for longer than that (worker_unavailable): the policy decides what
// follows. Own transactions. Returns when to be called again.
pg::Time give_up_waiting(const catalog::Catalogue &catalogue);

// ---- held attempt ----

struct AttemptName {
    std::int64_t id;
    int number;
    auto operator<=>(const AttemptName &) const =
        default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 sees a null pointer
};

// That it runs and is the caller's, without holding it: as its row says, for who finds nothing in
// shared memory. A sign of life, and raises the same.
void look_at_attempt(const catalog::Catalogue &catalogue, AttemptName name);

// ---- look after workers ----

// Knows them again after a restart; nothing when they are known.
void recall_workers();

// Forgets those that are gone and have nothing in flight: a while after their session has ended, or
// when they have been silent for a day. Returns when to look again.
pg::Time forget_workers(pg::Time now);

// ---- short ttl ----

// Warns when jobs of the type take so long that a worker with one in flight may well not get round
// to the next within `seconds`: over half of that, as measured. Nothing is known of a type whose
// jobs have not run since the server started.
void warn_of_short_ttl(const catalog::Queue &queue, std::string_view job_type,
                       std::optional<std::int32_t> seconds);

}  // namespace hipq::external
