// Exclusive locks on tables that others use all the time, taken without making those others wait.
#pragma once

#include <type_traits>

#include "pg/transaction.hpp"

namespace hipq::storage {

// How hard to try: patient is about 20 times in half a second without waiting, then once waiting up to 100 ms for each lock; when
// this process has other work to do (its latch is set) it goes on to that last try at once. Hasty is one try without waiting.
enum class Patience : unsigned char { patient, hasty };

// Locks the relations in ACCESS EXCLUSIVE mode and runs `step`, all in one transaction of its own. False: somebody holds a lock;
// nothing was done. Raises what `step` raises. For background workers: no transaction open.
bool run_with_reluctant_locks(const std::vector<Oid> &relations, Patience patience, void (*step)(const void *),
                              const void *argument);

template <class Step>
bool with_reluctant_locks(const std::vector<Oid> &relations, Patience patience, const Step &step)
{
    return run_with_reluctant_locks(
        relations, patience, [](const void *argument) { (*static_cast<const Step *>(argument))(); }, &step);
}

}  // namespace hipq::storage
