// Reading and forgetting rows of hipq.worker.
#include "workers.hpp"

#include "storage/catalogue.hpp"
#include "storage/permit.hpp"
#include "storage/rights.hpp"

namespace hipq::storage {

namespace {

constinit pg::Statement select_workers(R"(
    SELECT worker_id, role::oid, capacity, prefetch, is_draining, is_bound, name FROM hipq.worker)");

constinit pg::Statement delete_worker("DELETE FROM hipq.worker WHERE worker_id = $1");

// What workers name and what there is, by queue. A worker whose role was dropped serves nothing.
constinit pg::Statement select_services(R"(
    SELECT job_type.queue_id, job_type.name, worker.worker_id, worker.role::oid
    FROM hipq.worker
    JOIN pg_roles ON pg_roles.oid = worker.role
    CROSS JOIN LATERAL unnest(worker.queues) AS served(queue)
    JOIN hipq.instance ON instance.name = split_part(served.queue, '.', 1)
    JOIN hipq.queue ON queue.instance_id = instance.instance_id AND queue.name = split_part(served.queue, '.', 2) AND NOT queue.is_dropped
    JOIN hipq.job_type ON job_type.queue_id = queue.queue_id AND job_type.name = ANY (worker.job_types)
    WHERE job_type.handler_kind IN ('none', 'notify') AND worker.capabilities @> job_type.requires)");

// A process that reads while others write tries this often before it takes what it has; the next call reads again.
constexpr int max_reads = 5;

// On the heap and never freed, because globals have no destructors.
struct Cache {
    std::shared_ptr<const WorkerServices> services;
    std::shared_ptr<const Catalogue> catalogue;
    std::uint64_t generation;
};
constinit Cache *cache = nullptr;
constinit std::uint64_t generation = 0;
constinit Oid worker_table = InvalidOid;
// Tables of queues that workers serve: a GRANT changes them.
constinit std::vector<Oid> *queue_tables = nullptr;

void forget(Datum, Oid relation) noexcept
{
    const bool is_queue = queue_tables != nullptr && std::binary_search(queue_tables->begin(), queue_tables->end(), relation);
    if (!OidIsValid(relation) || relation == worker_table || is_queue)
        ++generation;
}

Oid table_named(const std::string &name)
{
    return pg::call([&] { return ::get_relname_relid(name.c_str(), ::get_namespace_oid("hipq", false)); });
}

void watch_tables(const Catalogue &catalogue)
{
    if (queue_tables == nullptr)
        queue_tables = new std::vector<Oid>();
    std::vector<Oid> tables;
    for (const auto &[id, queue] : catalogue.queues)
        tables.push_back(table_named(queue.table));
    std::sort(tables.begin(), tables.end());
    *queue_tables = std::move(tables);
    worker_table = table_named("worker");
}

// Whether the role may work on the queue; asked once for each of both.
class Permissions {
public:
    explicit Permissions(const Catalogue &catalogue) : catalogue_(catalogue) {}
    bool may_work(Oid role, int queue_id)
    {
        const auto known = known_.find({role, queue_id});
        if (known != known_.end())
            return known->second;
        const Queue *queue = catalogue_.find(queue_id);
        const bool may = queue != nullptr && storage::may(role, *queue, Privilege::work);
        known_.emplace(std::pair{role, queue_id}, may);
        return may;
    }

private:
    const Catalogue &catalogue_;
    std::map<std::pair<Oid, int>, bool> known_;
};

}  // namespace

bool must_recall_workers()
{
    return shmem::is_loaded() && !::RecoveryInProgress() && !shmem::are_recalled();
}

void recall_workers()
{
    if (!must_recall_workers())
        return;
    for (int i = 0; i < max_reads; ++i) {
        const std::uint64_t changes = shmem::worker_changes();
        as_hipq([&] {
            for (const pg::Row row : select_workers.run_latest())
                shmem::recall_worker({row.integer(0),
                                      row.oid(1),
                                      row.integer32(2),
                                      row.integer32(3),
                                      row.boolean(4),
                                      row.boolean(5),
                                      row.text(6),
                                      {}});
        });
        if (shmem::workers_recalled(changes))
            return;
    }
}

std::optional<shmem::WorkerSlot> find_worker(std::int64_t id)
{
    recall_workers();
    return shmem::find_worker(id);
}

bool forget_worker(std::int64_t id)
{
    const bool was_there = as_hipq([&] { return delete_worker.run(id).processed() == 1; });
    shmem::note_departure(id);
    return was_there;
}

std::span<const shmem::WorkerRef> WorkerServices::serving(int queue_id, std::string_view job_type) const
{
    const auto queue = ids_.find(queue_id);
    if (queue == ids_.end())
        return {};
    const auto type = queue->second.find(job_type);
    return type == queue->second.end() ? std::span<const shmem::WorkerRef>() : std::span<const shmem::WorkerRef>(type->second);
}

std::shared_ptr<const WorkerServices> worker_services()
{
    if (cache == nullptr)
        cache = new Cache{};
    for (int i = 0; i < max_reads; ++i) {
        const auto present = storage::catalogue();
        if (cache->services != nullptr && cache->generation == generation && cache->catalogue == present)
            return cache->services;
        watch_tables(*present);
        recall_workers();
        const std::uint64_t before = generation;
        auto services = std::make_shared<WorkerServices>();
        Permissions permissions(*present);
        const pg::Rows rows = as_hipq([] { return select_services.run_latest(); });
        for (const pg::Row row : rows)
            if (permissions.may_work(row.oid(3), row.integer32(0)))
                services->ids_[row.integer32(0)][row.text(1)].push_back(shmem::reference_to_worker(row.integer(2)));
        *cache = Cache{std::move(services), present, before};
    }
    return cache->services;
}

void watch_worker_services()
{
    ::CacheRegisterRelcacheCallback(forget, Datum{0});
}

}  // namespace hipq::storage
