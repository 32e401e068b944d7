// Jobs in state `error` that need an executor of their queue owner to ask the retry handler, although nobody has them in hand:
// what the scheduler found at start or after an executor died.
#pragma once

#include "shmem/registry.hpp"

namespace hipq::shmem {

// False: no room now, offer it again later.
bool offer_decision(const Decision &decision);
std::optional<Decision> take_decision(Oid database, Oid role);
bool has_decisions(Oid database, Oid role);

// Of a database that is gone. Needs the lock.
void forget_decisions(Oid database) noexcept;

}  // namespace hipq::shmem
