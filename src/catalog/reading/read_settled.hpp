// Reads a part of a queue that may change in the meantime.
#pragma once

#include "catalog/cache.hpp"
#include "catalog/changes.hpp"
#include "pg/transaction.hpp"

namespace hipq::catalog {

// Calls `read`, in a transaction of its own if there is none.
template <class Read>
auto in_a_transaction(const Read &read)
{
    if (pg::call([] { return ::IsTransactionState(); }))
        return read();
    std::optional<std::invoke_result_t<const Read &>> result;
    MemoryContext context = CurrentMemoryContext;
    pg::with_transaction([&] { result.emplace(read()); });
    ::MemoryContextSwitchTo(context);  // the end of a transaction switches the context
    return std::move(*result);
}

// Calls `read` as the extension owner, in a transaction of its own if there is none, and again if
// the part has changed in the meantime. Raises any error of `read`.
template <class Read>
auto read_settled(int queue_id, std::uint64_t QueueVersion::*part, const Read &read)
{
    const auto version = [&] {
        const auto queue = versions().queues.find(queue_id);
        return queue == versions().queues.end() ? 0 : queue->second.*part;
    };
    return in_a_transaction([&] {
        for (int reads = 1;; ++reads) {
            const std::uint64_t before = version();
            auto result = pg::as_extension_owner(read);
            if (version() == before || reads == max_reads)
                return result;
        }
    });
}

}  // namespace hipq::catalog
