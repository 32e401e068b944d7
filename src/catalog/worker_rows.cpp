// Reads and deletes rows of hipq.worker.
#include "catalog/worker_rows.hpp"

#include "catalog/cache.hpp"
#include "catalog/rights.hpp"
#include "pg/compat.hpp"
#include "pg/fields.hpp"
#include "pg/internal_write.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::catalog {

namespace {

using pg::field;
using workers::NewWorker;

constexpr std::array worker_fields{
    field<&NewWorker::id>("worker_id"),
    field<&NewWorker::role>("role::oid"),
    field<&NewWorker::capacity>("capacity"),
    field<&NewWorker::prefetch>("prefetch"),
    field<&NewWorker::is_draining>("is_draining"),
    field<&NewWorker::is_bound>("is_bound"),
    field<&NewWorker::name>("name"),
};

// Takes the roles in turn, because shared memory may have less room than before.
constinit pg::Selection<NewWorker> select_workers(worker_fields, R"(
    FROM hipq.worker
    ORDER BY row_number() OVER (PARTITION BY role ORDER BY worker_id), worker_id)");

constinit pg::Statement delete_worker("DELETE FROM hipq.worker WHERE worker_id = $1");

// Deletes the row only if it is not locked: its role may hold a lock on it by calling
// drain_worker() in a transaction that stays open.
constinit pg::Statement delete_worker_not_held(R"(
    DELETE FROM hipq.worker
    WHERE worker_id IN (SELECT held.worker_id FROM hipq.worker AS held WHERE held.worker_id = $1 FOR UPDATE SKIP LOCKED))");
constinit pg::Statement select_worker("SELECT FROM hipq.worker WHERE worker_id = $1");

// A queue that a worker names, and a job type of the queue that it also names.
struct NamedType {
    int queue_id;
    std::string job_type;
    std::int64_t worker_id;
    Oid role;
};
constexpr std::array named_type_fields{
    field<&NamedType::queue_id>("job_type.queue_id"),
    field<&NamedType::job_type>("job_type.name"),
    field<&NamedType::worker_id>("worker.worker_id"),
    field<&NamedType::role>("worker.role::oid"),
};

// The existing queues and job types that workers name. A worker whose role was dropped serves
// nothing.
constinit pg::Selection<NamedType> select_services(named_type_fields, R"(
    FROM hipq.worker
    JOIN pg_roles ON pg_roles.oid = worker.role
    CROSS JOIN LATERAL unnest(worker.queues) AS served(queue)
    JOIN hipq.instance ON instance.name = split_part(served.queue, '.', 1)
    JOIN hipq.queue ON queue.instance_id = instance.instance_id AND queue.name = split_part(served.queue, '.', 2) AND NOT queue.is_dropped
    JOIN hipq.job_type ON job_type.queue_id = queue.queue_id AND job_type.name = ANY (worker.job_types)
    WHERE job_type.handler_kind IN ('none', 'notify') AND worker.capabilities @> job_type.requires)");

struct NamedQueue {
    std::int64_t worker_id;
    Oid role;
    int queue_id;  // 0: the queue does not exist
};
constexpr std::array named_queue_fields{
    field<&NamedQueue::worker_id>("worker.worker_id"),
    field<&NamedQueue::role>("worker.role::oid"),
    field<&NamedQueue::queue_id>("queue.queue_id"),
};

// The queues that workers name, for all workers or for one.
constinit pg::Selection<NamedQueue> select_named_queues(named_queue_fields, R"(
    FROM hipq.worker
    CROSS JOIN LATERAL unnest(worker.queues) AS served(queue)
    LEFT JOIN hipq.instance ON instance.name = split_part(served.queue, '.', 1)
    LEFT JOIN hipq.queue ON queue.instance_id = instance.instance_id AND queue.name = split_part(served.queue, '.', 2) AND NOT queue.is_dropped
    WHERE $1 IS NULL OR worker.worker_id = $1
    ORDER BY worker.worker_id)");

// On the heap and never freed, because globals have no destructors.
struct CachedServices {
    std::shared_ptr<const WorkerServices> services;
    std::shared_ptr<const Catalogue> catalogue;
    std::uint64_t generation;
};
constinit CachedServices *cached_services = nullptr;
constinit std::uint64_t worker_generation = 0;
constinit Oid worker_table = InvalidOid;
// The tables of queues. A GRANT on one changes which workers may serve it.
constinit std::vector<Oid> *queue_tables = nullptr;

void forget_services(Datum, Oid relation) noexcept
{
    const bool is_queue = queue_tables != nullptr &&
                          std::binary_search(queue_tables->begin(), queue_tables->end(), relation);
    if (!OidIsValid(relation) || relation == worker_table || is_queue)
        ++worker_generation;
}

// A role was dropped, or its memberships changed.
void forget_roles(Datum, pg::CacheId, std::uint32_t) noexcept
{
    ++worker_generation;
}

Oid table_named(const std::string &name)
{
    return pg::call(
        [&] { return ::get_relname_relid(name.c_str(), ::get_namespace_oid("hipq", false)); });
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

// Whether a role may work on a queue; checked once for each pair.
class Permissions {
public:
    explicit Permissions(const Catalogue &catalogue) : catalogue_(catalogue) {}
    bool may_work(Oid role, int queue_id)
    {
        const auto known = known_.find({role, queue_id});
        if (known != known_.end())
            return known->second;
        const Queue *queue = catalogue_.find(queue_id);
        const bool may = queue != nullptr && catalog::may(role, *queue, Privilege::work);
        known_.emplace(std::pair{role, queue_id}, may);
        return may;
    }

private:
    const Catalogue &catalogue_;
    std::map<std::pair<Oid, int>, bool> known_;
};

// The queues that one worker may still work on.
struct Rights {
    std::vector<int> queues;
    bool lacks_one = false;
};

// Reads the rights of all workers that name queues, as every worker does.
std::map<std::int64_t, Rights> read_rights(const Catalogue &catalogue,
                                           std::optional<std::int64_t> worker_id)
{
    std::map<std::int64_t, Rights> all;
    Permissions permissions(catalogue);
    const pg::Rows rows = pg::as_hipq([&] { return select_named_queues.run_latest(worker_id); });
    for (const pg::Row row : rows) {
        const NamedQueue named = select_named_queues.read(row);
        Rights &rights = all[named.worker_id];
        if (permissions.may_work(named.role, named.queue_id))
            rights.queues.push_back(named.queue_id);
        else
            rights.lacks_one = true;
    }
    return all;
}

// Facts about one worker. A session checks its own worker repeatedly.
struct KnownWork {
    std::int64_t worker_id;
    std::uint64_t generation;
    std::shared_ptr<const Catalogue> catalogue;
    bool has_work;
};
constinit KnownWork *known_work = nullptr;

}  // namespace

bool has_work(std::int64_t worker_id)
{
    if (known_work == nullptr)
        known_work = new KnownWork{};
    const auto present = catalogue();
    if (known_work->worker_id == worker_id && known_work->generation == worker_generation &&
        known_work->catalogue == present)
        return known_work->has_work;
    watch_tables(*present);
    const std::uint64_t before = worker_generation;
    const auto rights = read_rights(*present, worker_id);
    const auto found = rights.find(worker_id);
    const bool has_work = found != rights.end() && !found->second.queues.empty();
    *known_work = KnownWork{worker_id, before, present, has_work};
    return has_work;
}

bool must_read_workers()
{
    return memory::is_loaded() && !::RecoveryInProgress() && !workers::are_workers_read();
}

void read_workers()
{
    if (!must_read_workers())
        return;
    for (int i = 0; i < max_reads; ++i) {
        const std::uint64_t changes = workers::worker_changes();
        pg::as_hipq([&] {
            for (const pg::Row row : select_workers.run_latest())
                workers::restore_worker(select_workers.read(row));
        });
        if (workers::note_workers_read(changes))
            return;
    }
}

std::optional<workers::WorkerSlot> find_worker(std::int64_t id)
{
    read_workers();
    return workers::find_worker(id);
}

bool forget_worker(std::int64_t id)
{
    const bool was_there = pg::as_hipq([&] { return delete_worker.run(id).processed() == 1; });
    workers::note_departure(id);
    return was_there;
}

bool forget_worker_unless_held(std::int64_t id)
{
    const bool is_gone = pg::as_hipq([&] {
        return delete_worker_not_held.run(id).processed() == 1 ||
               select_worker.run_latest(id).empty();
    });
    if (is_gone)
        workers::note_departure(id);
    return is_gone;
}

std::span<const workers::WorkerRef> WorkerServices::serving(int queue_id,
                                                            std::string_view job_type) const
{
    const auto queue = ids_.find(queue_id);
    if (queue == ids_.end())
        return {};
    const auto type = queue->second.find(job_type);
    return type == queue->second.end() ? std::span<const workers::WorkerRef>()
                                       : std::span<const workers::WorkerRef>(type->second);
}

bool WorkerServices::may_work(std::int64_t worker_id, int queue_id) const
{
    const auto found = lacking_.find(worker_id);
    return found == lacking_.end() ||
           std::ranges::find(found->second, queue_id) != found->second.end();
}

bool WorkerServices::lacks_a_right(std::int64_t worker_id) const
{
    return lacking_.contains(worker_id);
}

bool WorkerServices::has_no_work(std::int64_t worker_id) const
{
    const auto found = lacking_.find(worker_id);
    return found != lacking_.end() && found->second.empty();
}

void WorkerServices::know_rights(std::int64_t worker_id, const std::vector<int> &queues,
                                 bool lacks_a_right)
{
    if (lacks_a_right)
        lacking_.emplace(worker_id, queues);
}

std::shared_ptr<const WorkerServices> worker_services()
{
    if (cached_services == nullptr)
        cached_services = new CachedServices{};
    for (int i = 0; i < max_reads; ++i) {
        const auto present = catalogue();
        if (cached_services->services != nullptr &&
            cached_services->generation == worker_generation &&
            cached_services->catalogue == present)
            return cached_services->services;
        watch_tables(*present);
        read_workers();
        const std::uint64_t before = worker_generation;
        auto services = std::make_shared<WorkerServices>();
        Permissions permissions(*present);
        const pg::Rows rows = pg::as_hipq([] { return select_services.run_latest(); });
        for (const pg::Row row : rows) {
            const NamedType named = select_services.read(row);
            if (permissions.may_work(named.role, named.queue_id))
                services->ids_[named.queue_id][named.job_type].push_back(
                    workers::reference_to_worker(named.worker_id));
        }
        for (const auto &[worker, rights] : read_rights(*present, std::nullopt))
            services->know_rights(worker, rights.queues, rights.lacks_one);
        *cached_services = CachedServices{std::move(services), present, before};
    }
    return cached_services->services;
}

void watch_worker_services()
{
    ::CacheRegisterRelcacheCallback(forget_services, Datum{0});
    ::CacheRegisterSyscacheCallback(AUTHOID, forget_roles, Datum{0});
    ::CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, forget_roles, Datum{0});
}

}  // namespace hipq::catalog
