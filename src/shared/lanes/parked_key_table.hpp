// The table of parked keys (core/lanes/parked_keys.hpp) in shared memory.
#pragma once

#include "core/lanes/parked_keys.hpp"
#include "shared/memory/registry.hpp"
#include "shared/memory/tranche.hpp"

namespace hipq::lanes {

// Guards which keys are parked, and is taken after a lane's lock. The heap of a lane, and the
// entries in it, need only the lane's lock to be read.
class ParkedKeysLock : public memory::TrancheLock {
public:
    explicit ParkedKeysLock(LWLockMode mode);
};

core::ParkedKeys parked_keys();

extern const memory::Part parked_keys_part;

}  // namespace hipq::lanes
