// Collects a transaction's requests to cancel jobs, and places them when it commits.
#include "shared/executors/cancellations.hpp"

#include "shared/memory/registry.hpp"
#include "shared/memory/transaction_notes.hpp"

extern "C" {
#include "mb/pg_wchar.h"
}

namespace hipq::executors {

namespace {

struct AskedCancellation {
    std::int64_t job_id;
    CancellationError error;
};

constinit memory::TransactionNotes<AskedCancellation> *cancellations =
    nullptr;  // on the heap, so that no destructor runs at exit

extern "C" void hipq_cancelling_transaction_ends(XactEvent event, void *)
{
    if (cancellations == nullptr || cancellations->empty())
        return;
    if (event == XACT_EVENT_COMMIT)
        cancellations->carry_out([](const AskedCancellation &asked) {
            (void)request_cancellation(MyDatabaseId, asked.job_id, asked.error);
        });
    if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT)
        cancellations->forget();
}

extern "C" void hipq_cancelling_subtransaction_ends(SubXactEvent event, SubTransactionId id,
                                                    SubTransactionId parent, void *)
{
    if (cancellations != nullptr)
        cancellations->end_subtransaction(event, id, parent);
}

CancellationError cut_to_fit(const std::string &error)
{
    CancellationError fitting{};
    const int length = ::pg_mbcliplen(error.data(), static_cast<int>(error.size()),
                                      static_cast<int>(fitting.size()) - 1);
    std::memcpy(fitting.data(), error.data(), static_cast<std::size_t>(length));
    return fitting;
}

}  // namespace

CancelAnswer ask_for_cancellation(std::int64_t job_id, const std::string &error, AskWhen when)
{
    if (!memory::is_loaded())
        return CancelAnswer::not_in_flight;
    const CancellationError fitting = cut_to_fit(error);
    if (when == AskWhen::now)
        return request_cancellation(MyDatabaseId, job_id, fitting);
    const CancelAnswer answer = look_at_cancellation(MyDatabaseId, job_id);
    if (answer != CancelAnswer::placed)
        return answer;
    if (cancellations == nullptr)
        cancellations = new memory::TransactionNotes<AskedCancellation>();
    cancellations->add({job_id, fitting});
    return answer;
}

void watch_cancellations()
{
    ::RegisterXactCallback(hipq_cancelling_transaction_ends, nullptr);
    ::RegisterSubXactCallback(hipq_cancelling_subtransaction_ends, nullptr);
}

}  // namespace hipq::executors
