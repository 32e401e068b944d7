// Takes the locks of the shared segment, and checks their order in builds with assertions.
#include "shared/memory/tranche.hpp"

namespace hipq::memory {

namespace {

#ifdef USE_ASSERT_CHECKING

// The ranks of the locks that this process holds, in the order in which it took them.
constinit std::array<LockRank, 8> held{};
constinit std::size_t held_count = 0;

void note_taking(LockRank rank)
{
    Assert(held_count < held.size());
    Assert(held_count == 0 || held[held_count - 1] < rank);
    held[held_count++] = rank;
}

void note_release()
{
    Assert(held_count > 0);
    --held_count;
}

#else

void note_taking(LockRank) {}
void note_release() {}

#endif

}  // namespace

TrancheLock::TrancheLock(const Tranche &tranche, LWLockMode mode, int index)
    : TrancheLock(tranche, tranche.lock(index), mode)
{
}

TrancheLock::TrancheLock(const Tranche &tranche, LWLock *lock, LWLockMode mode) : lock_(lock)
{
    note_taking(tranche.rank());
    ::LWLockAcquire(lock_, mode);
}

TrancheLock::~TrancheLock()
{
    ::LWLockRelease(lock_);
    note_release();
}

}  // namespace hipq::memory
