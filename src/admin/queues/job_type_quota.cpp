// Counts the registered types of a queue, but not at each registration, because a transaction may
// register very many.
#include "admin/queues/job_type_quota.hpp"

#include "catalog/cache.hpp"
#include "pg/compat.hpp"
#include "pg/internal_write.hpp"
#include "settings.hpp"

namespace hipq::admin {

namespace {

// $1 queue, $2 limit
constinit pg::Statement count_registered(R"(
    SELECT count(*)
    FROM (SELECT FROM hipq.job_type WHERE queue_id = $1 AND is_registered LIMIT $2) AS registered)");

// How many types a transaction may register before it counts again, by queue. Some of the counted
// types may have been rolled back or dropped since.
struct RoomForTypes {
    LocalTransactionId transaction;
    std::map<int, std::int64_t> queues;
};

constinit RoomForTypes *room_for_types = nullptr;  // on the heap: no destructor at exit

std::int64_t &room_in(const catalog::Queue &queue)
{
    if (room_for_types == nullptr)
        room_for_types = new RoomForTypes{InvalidLocalTransactionId, {}};
    if (std::exchange(room_for_types->transaction, pg::own_local_transaction()) !=
        pg::own_local_transaction())
        room_for_types->queues.clear();
    return room_for_types->queues[queue.id];
}

[[noreturn]] void refuse_more_types(const catalog::Queue &queue)
{
    const std::string name = queue.full_name();
    HIPQ_RAISE(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
               errmsg("queue \"%s\" has too many job types", name.c_str()),
               errdetail("As many as it may have are registered (hipq.max_job_types = %d).",
                         settings::max_job_types),
               errhint("Use hipq.drop_job_type() for those that nobody needs, or have the setting "
                       "raised."));
}

}  // namespace

void demand_job_type_quota(const catalog::Queue &queue)
{
    if (pg::call([] { return ::superuser(); }))
        return;
    std::int64_t &room = room_in(queue);
    if (room > 0) {
        --room;
        return;
    }
    const std::int64_t most = settings::max_job_types;
    const std::int64_t count = pg::as_hipq(
        [&] { return count_registered.run_latest(queue.id, most + 1).front().integer(0); });
    if (count > most)
        refuse_more_types(queue);
    room = most - count;
}

}  // namespace hipq::admin
