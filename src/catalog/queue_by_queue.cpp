// Leaves a queue whose tables cannot be read out of an answer, with a WARNING.
#include "catalog/queue_by_queue.hpp"

#include "catalog/queue_lock.hpp"
#include "pg/error_classes.hpp"
#include "pg/short_text.hpp"

namespace hipq::catalog {

void leave_out(const Queue &queue, const pg::Error &error)
{
    if (!pg::is_fault_of_job(error))
        throw error;  // NOLINT(cert-err60-cpp): as it came
    const std::string name = queue.full_name();
    const std::string message = pg::short_message(error);
    pg::call([&] {
        ereport(WARNING, errcode(error.sqlerrcode()),
                errmsg("queue \"%s\" is left out because it cannot be read: %s", name.c_str(),
                       message.c_str()));
    });
}

bool can_be_read(const Queue &queue)
{
    return try_to_lock(queue, AccessShareLock) && OidIsValid(live_leaf(queue));
}

}  // namespace hipq::catalog
