// Looks up a worker by its number, and checks that the caller's role may act for it.
#pragma once

#include "shared/workers/registered.hpp"

namespace hipq::external {

// Raises 55000 if hipq is not preloaded: then nothing is known of workers.
void require_shared_memory();

// Raise 42704 if there is no such worker (any more). require_own_worker() also raises 42501 if it
// belongs to another role or its role may not work any more, and 55000 if its session has ended or
// it was deregistered.
workers::WorkerSlot require_worker(std::int64_t id);
workers::WorkerSlot require_own_worker(std::int64_t id);

// The worker's role. After a restart with less room the worker may be in the table only. If there
// is no such worker, role_of() returns nothing and require_role_of() raises 42704.
std::optional<Oid> role_of(std::int64_t id);
Oid require_role_of(std::int64_t id);

[[noreturn]] void raise_strange_worker(std::int64_t id);

}  // namespace hipq::external
