// Runs code in subtransactions, as PL/pgSQL does for its blocks.
#include "pg/subtransaction.hpp"

extern "C" {
#include "access/xact.h"
#include "utils/resowner.h"
}

namespace hipq::pg {

namespace {

void put_back(const SubtransactionScope &before)
{
    ::MemoryContextSwitchTo(before.memory);
    CurrentResourceOwner = before.resources;
}

}  // namespace

SubtransactionScope begin_subtransaction()
{
    const SubtransactionScope before{CurrentMemoryContext, CurrentResourceOwner};
    call([&] {
        ::BeginInternalSubTransaction(nullptr);
        ::MemoryContextSwitchTo(before.memory);
    });
    return before;
}

void release_subtransaction(const SubtransactionScope &before)
{
    call([] { ::ReleaseCurrentSubTransaction(); });
    put_back(before);
}

void roll_back_subtransaction(const SubtransactionScope &before)
{
    call([] { ::RollbackAndReleaseCurrentSubTransaction(); });
    put_back(before);
}

}  // namespace hipq::pg
