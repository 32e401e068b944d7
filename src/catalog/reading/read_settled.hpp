// Reads a part of a queue that may change in the meantime.
#pragma once

#include "catalog/cache.hpp"
#include "catalog/changes.hpp"
#include "pg/transaction.hpp"

namespace hipq::catalog {

// Calls `read` as the extension owner, in a transaction of its own if there is none, and again if
// the part has changed in the meantime. Raises any error of `read`.
template <class Read>
auto read_settled(int queue_id, std::uint64_t QueueVersion::*part, const Read &read)
{
    const auto version = [&] {
        const auto queue = versions().queues.find(queue_id);
        return queue == versions().queues.end() ? 0 : queue->second.*part;
    };
    std::optional<std::invoke_result_t<const Read &>> result;
    const auto read_it = [&] {
        for (int reads = 0; reads < max_reads; ++reads) {
            const std::uint64_t before = version();
            result.emplace(pg::as_extension_owner(read));
            if (version() == before)
                return;
        }
    };
    MemoryContext context = CurrentMemoryContext;
    if (pg::call([] { return ::IsTransactionState(); }))
        read_it();
    else
        pg::with_transaction(read_it);
    ::MemoryContextSwitchTo(context);  // the end of a transaction switches the context
    return std::move(*result);
}

}  // namespace hipq::catalog
