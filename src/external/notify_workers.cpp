// Notifies external workers of the jobs that they are offered.
#include "external/notify_workers.hpp"

#include "core/text/names.hpp"
#include "pg/error_classes.hpp"
#include "pg/short_text.hpp"
#include "pg/transaction.hpp"

#include <map>

extern "C" {
#include "commands/async.h"
}

namespace hipq::external {

namespace {

using workers::NewOffer;

// Notifies each worker once. A worker that misses the notification finds its jobs when it polls. A
// session that waits in claim() has been woken, and needs none.
void notify(std::span<const NewOffer> given)
{
    std::map<std::int64_t, workers::WorkerRef> offered;
    for (const NewOffer &job : given)
        offered.try_emplace(job.choice.worker.id, job.choice.worker);
    std::erase_if(offered, [](const auto &entry) { return workers::is_waited_for(entry.second); });
    if (offered.empty())
        return;
    pg::with_transaction([&] {
        for (const auto &entry : offered) {
            const std::string channel = core::worker_channel(entry.first);
            pg::call([&] { ::Async_Notify(channel.c_str(), ""); });
        }
    });
}

void report_silence(const pg::Error &error)
{
    const std::string message = pg::short_message(error);
    pg::call([&] {
        ereport(WARNING, errcode(error.sqlerrcode()),
                errmsg("cannot notify external workers of their jobs: %s", message.c_str()),
                errhint("They find them when they poll."));
    });
}

}  // namespace

void notify_workers(std::span<const NewOffer> given)
{
    std::optional<pg::Error> trouble;
    try {
        notify(given);
    } catch (const pg::Error &error) {
        if (!pg::is_fault_of_job(error))
            throw;
        trouble = error;
    }
    if (trouble.has_value())
        report_silence(*trouble);
}

}  // namespace hipq::external
