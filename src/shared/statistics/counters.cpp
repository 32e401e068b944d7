// Counts what happens to jobs, by queue and job type.
//
// The table in shared memory is an array of keys and a separate array of entries, so that a look-up
// reads little memory. The notes of the current transaction are in local memory.
#include "shared/statistics/counters.hpp"

#include "core/limits/fair_quota.hpp"
#include "core/time.hpp"
#include "pg/clock.hpp"
#include "settings.hpp"
#include "shared/memory/tranche.hpp"
#include "shared/statistics/file.hpp"

extern "C" {
#include "common/hashfn.h"
#include "mb/pg_wchar.h"
}

namespace hipq::statistics {

namespace {

struct StatisticsHead {
    std::int32_t capacity;
    std::int64_t uncounted;
};

struct Counted {
    CountedType type;
    core::Statistics statistics;
};

constinit StatisticsHead *table_head =
    nullptr;  // the array of places follows it, then the array of entries
constinit memory::Tranche tranche{"HipqStatistics", memory::LockRank::statistics};

std::span<core::StatisticsPlace> places()
{
    return {reinterpret_cast<core::StatisticsPlace *>(table_head + 1),
            static_cast<std::size_t>(table_head->capacity)};
}

std::span<Counted> counted()
{
    return {reinterpret_cast<Counted *>(places().data() + table_head->capacity),
            static_cast<std::size_t>(table_head->capacity)};
}

Size segment_size()
{
    const Size per_entry = sizeof(core::StatisticsPlace) + sizeof(Counted);
    return ::add_size(sizeof(StatisticsHead),
                      ::mul_size(per_entry, static_cast<Size>(settings::max_statistics)));
}

// ---- the notes of the current transaction ----

struct NotedType {
    std::uint64_t key;
    std::uint64_t key_of_others;  // the key of other_types in the same queue
    CountedType type;
};

struct NotedEvent {
    std::size_t type;  // index in noted_types
    SubTransactionId subtransaction;
    core::JobEvent event;
};

// One call can cancel a million jobs; the session need not keep memory for that many.
constexpr std::size_t most_events_kept = 10'000;

// On the heap, so that no destructor runs at exit. The vectors keep their memory from one
// transaction to the next.
constinit std::vector<NotedType> *noted_types = nullptr;
constinit std::vector<NotedEvent> *noted_events = nullptr;
constinit std::int64_t noted_minute = 0;

void copy_text(std::span<char> to, std::string_view from)
{
    const std::size_t length = static_cast<std::size_t>(::pg_mbcliplen(
        from.data(), static_cast<int>(from.size()), static_cast<int>(to.size()) - 1));
    std::copy_n(from.data(), length, to.data());
    to[length] = '\0';
}

std::uint64_t key_of(int queue_id, std::string_view job_type)
{
    const std::uint64_t seed =
        (std::uint64_t{MyDatabaseId} << 32) | static_cast<std::uint32_t>(queue_id);
    const std::uint64_t key =
        ::hash_bytes_extended(reinterpret_cast<const unsigned char *>(job_type.data()),
                              static_cast<int>(job_type.size()), seed);
    return key == 0 ? 1 : key;
}

// Consecutive events usually concern the same type, so check the last one first.
std::size_t noted_type(int queue_id, Oid owner, std::string_view instance, std::string_view queue,
                       std::string_view job_type)
{
    const std::uint64_t key = key_of(queue_id, job_type);
    if (!noted_events->empty() && (*noted_types)[noted_events->back().type].key == key)
        return noted_events->back().type;
    const auto found = std::find_if(noted_types->begin(), noted_types->end(),
                                    [&](const NotedType &type) { return type.key == key; });
    if (found != noted_types->end())
        return static_cast<std::size_t>(found - noted_types->begin());
    NotedType type{key, key_of(queue_id, ""), {MyDatabaseId, owner, queue_id, {}, {}}};
    copy_text(type.type.queue, std::string(instance) + "." + std::string(queue));
    copy_text(type.type.job_type, job_type);
    noted_types->push_back(type);
    return noted_types->size() - 1;
}

void forget_notes()
{
    if (noted_events == nullptr)
        return;
    noted_events->clear();
    if (noted_events->capacity() > most_events_kept)
        std::vector<NotedEvent>().swap(*noted_events);
    noted_types->clear();
}

// ---- counting ----

void begin_entry(std::size_t place, const NotedType &type, std::int64_t minute)
{
    places()[place] = {type.key, minute, type.type.owner};
    Counted &entry = counted()[place];
    std::memset(static_cast<void *>(&entry), 0, sizeof(entry));
    entry.type = type.type;
    entry.statistics.since = minute * core::microseconds_per_minute;
}

// Returns the place of the type, or a new one within the owner's share. Returns nothing if there is
// no room.
std::optional<std::size_t> place_of(const NotedType &type, int share, std::int64_t minute)
{
    auto place = core::find_place(places(), type.key);
    if (!place.has_value()) {
        place = core::choose_place(places(), type.type.owner, share, minute);
        if (place.has_value())
            begin_entry(*place, type, minute);
    }
    return place;
}

NotedType others_of(const NotedType &type)
{
    NotedType others = type;
    others.key = type.key_of_others;
    std::memcpy(others.type.job_type, other_types.data(), other_types.size() + 1);
    return others;
}

// An owner beyond its share gets one more entry per queue, which counts all its other types
// together. Returns null if there is no room for that either.
core::Statistics *entry_of(const NotedType &type, std::int64_t minute)
{
    auto place = place_of(type, settings::max_owner_share, minute);
    if (!place.has_value())
        place = place_of(others_of(type), core::whole_table, minute);
    if (!place.has_value())
        return nullptr;
    places()[*place].latest = minute;
    return &counted()[*place].statistics;
}

// Straight-line code: the lock is held, and the transaction can no longer fail.
void count_noted()
{
    const memory::TrancheLock lock(tranche, LW_EXCLUSIVE);
    core::Statistics *entry = nullptr;
    std::size_t type_of_entry = noted_types->size();
    for (const NotedEvent &noted : *noted_events) {
        if (noted.type != type_of_entry)
            entry = entry_of((*noted_types)[noted.type], noted_minute);
        type_of_entry = noted.type;
        if (entry != nullptr)
            core::count(*entry, noted.event, noted_minute);
        else
            ++table_head->uncounted;
    }
}

extern "C" void hipq_statistics_transaction_ends(XactEvent event, void *)
{
    if (noted_events == nullptr || noted_types->empty())
        return;
    if (event == XACT_EVENT_COMMIT && !noted_events->empty())
        count_noted();
    if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
        forget_notes();
}

// Events noted since the subtransaction began have its number, or the higher number of a
// subtransaction within it.
extern "C" void hipq_statistics_subtransaction_ends(SubXactEvent event,
                                                    SubTransactionId subtransaction,
                                                    SubTransactionId, void *)
{
    if (event != SUBXACT_EVENT_ABORT_SUB || noted_events == nullptr)
        return;
    while (!noted_events->empty() && noted_events->back().subtransaction >= subtransaction)
        noted_events->pop_back();
}

// ---- shutdown and start ----

// The postmaster runs this after all other processes have exited. It does not save after a crash,
// because the counters may be corrupt.
extern "C" void hipq_statistics_exit(int code, Datum)
{
    if (code != 0 || table_head == nullptr)
        return;
    const auto count = static_cast<std::size_t>(
        std::count_if(places().begin(), places().end(),
                      [](const core::StatisticsPlace &place) { return place.key != 0; }));
    auto *entries = static_cast<CountedEntry *>(::MemoryContextAllocExtended(
        TopMemoryContext, sizeof(CountedEntry) * std::max(count, std::size_t{1}),
        MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM));
    if (entries == nullptr)
        return;
    std::size_t filled = 0;
    for (std::size_t i = 0; i < places().size(); ++i)
        if (places()[i].key != 0)
            entries[filled++] =
                CountedEntry{counted()[i].type, places()[i], counted()[i].statistics};
    save_statistics({entries, filled});
}

void take_entry(const CountedEntry &saved)
{
    const auto place = core::find_place(places(), 0);
    if (!place.has_value())
        return;
    places()[*place] = saved.place;
    counted()[*place] = Counted{saved.type, saved.statistics};
}

}  // namespace

namespace {

void request_statistics()
{
    ::RequestAddinShmemSpace(segment_size());
    tranche.request();
}

void set_up_statistics()
{
    bool found = false;
    table_head =
        static_cast<StatisticsHead *>(::ShmemInitStruct("hipq statistics", segment_size(), &found));
    tranche.set_up();
    if (!::IsUnderPostmaster)
        ::on_shmem_exit(hipq_statistics_exit, Datum{0});
    if (found)
        return;
    std::memset(static_cast<void *>(table_head), 0, segment_size());
    table_head->capacity = settings::max_statistics;
    load_statistics(take_entry);
}

}  // namespace

constinit const memory::Part statistics_part{request_statistics, set_up_statistics};

void watch_statistics()
{
    ::RegisterXactCallback(hipq_statistics_transaction_ends, nullptr);
    ::RegisterSubXactCallback(hipq_statistics_subtransaction_ends, nullptr);
}

void note_event(int queue_id, Oid owner, std::string_view instance, std::string_view queue,
                std::string_view job_type, const core::JobEvent &event, pg::Time now)
{
    if (table_head == nullptr)
        return;
    if (noted_events == nullptr) {
        noted_types = new std::vector<NotedType>();
        noted_events = new std::vector<NotedEvent>();
    }
    noted_minute = core::minute_of(now.value);
    noted_events->push_back({noted_type(queue_id, owner, instance, queue, job_type),
                             ::GetCurrentSubTransactionId(), event});
}

namespace {

// Returns false if the place is free.
bool copy_entry(std::size_t place, Counted &copy)
{
    const memory::TrancheLock lock(tranche, LW_SHARED);
    const bool is_used = places()[place].key != 0;
    if (is_used)
        copy = counted()[place];
    return is_used;
}

}  // namespace

void for_each_counted(
    const std::function<void(const CountedType &, const core::Statistics &)> &show)
{
    if (table_head == nullptr)
        return;
    const auto copy = std::make_unique<Counted>();
    for (std::size_t i = 0; i < places().size(); ++i)
        if (copy_entry(i, *copy))
            show(copy->type, copy->statistics);
}

std::int64_t uncounted_events()
{
    return table_head == nullptr ? 0 : *const_cast<volatile std::int64_t *>(&table_head->uncounted);
}

void reset_statistics(Oid database, int queue_id)
{
    if (table_head == nullptr)
        return;
    const memory::TrancheLock lock(tranche, LW_EXCLUSIVE);
    for (std::size_t i = 0; i < places().size(); ++i) {
        const CountedType &type = counted()[i].type;
        if (type.database == database && (queue_id == 0 || type.queue_id == queue_id))
            places()[i] = {};
    }
    table_head->uncounted = 0;
}

}  // namespace hipq::statistics
