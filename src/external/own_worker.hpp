// A worker that somebody names by its number, and who may act for it: its role.
#pragma once

#include "shared/workers/registered.hpp"

namespace hipq::external {

// 55000 where nothing can be known of workers: hipq is not preloaded.
void require_shared_memory();

// 42704: there is none (any more). 42501: it is another role's, or its role may not work any more.
// 55000: its session has ended, or it was deregistered.
workers::WorkerSlot require_worker(std::int64_t id);
workers::WorkerSlot require_own_worker(std::int64_t id);

// Whose it is; after a restart with less room it may be in the table alone. Nothing, or 42704:
// there is none.
std::optional<Oid> role_of(std::int64_t id);
Oid require_role_of(std::int64_t id);

[[noreturn]] void raise_strange_worker(std::int64_t id);

}  // namespace hipq::external
