// Notifies external workers of the jobs that they were given.
#include "external/notify_workers.hpp"

#include "core/text/names.hpp"
#include "pg/error_classes.hpp"
#include "pg/short_text.hpp"
#include "pg/transaction.hpp"

#include <set>

extern "C" {
#include "commands/async.h"
}

namespace hipq::external {

namespace {

using workers::Dispatched;

// Notifies each worker once. A worker that misses the notification finds its jobs when it polls.
void notify(std::span<const Dispatched> given)
{
    std::set<std::int64_t> workers;
    for (const Dispatched &job : given)
        workers.insert(job.worker.id);
    pg::with_transaction([&] {
        for (const std::int64_t id : workers) {
            const std::string channel = core::worker_channel(id);
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

void notify_workers(std::span<const Dispatched> given)
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
