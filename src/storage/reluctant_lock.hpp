// Exclusive locks on tables that others use all the time, taken without making those others wait.
#pragma once

#include <type_traits>

#include "pg/transaction.hpp"

namespace hipq::storage {

// Locks the relations in ACCESS EXCLUSIVE mode and runs `step`, all in one transaction of its own. Tries without waiting about 20
// times in half a second, then once waiting up to 100 ms for each lock. False: somebody holds a lock; nothing was done. Raises
// what `step` raises. For background workers: no transaction open.
bool run_with_reluctant_locks(const std::vector<Oid> &relations, void (*step)(const void *), const void *argument);

template <class Step>
bool with_reluctant_locks(const std::vector<Oid> &relations, const Step &step)
{
    return run_with_reluctant_locks(
        relations, [](const void *argument) { (*static_cast<const Step *>(argument))(); }, &step);
}

}  // namespace hipq::storage
