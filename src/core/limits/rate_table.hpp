// The rates of queues and job types in use, in a table that can live in shared memory
// (name_table.hpp).
//
// A rate is entered when it is first needed, and may lose its place when nothing that it has
// recorded matters any more. Times are microseconds of the clock of rate.hpp. The caller does the
// locking.
#pragma once

#include "core/limits/name_table.hpp"
#include "core/limits/rate.hpp"

#include <array>
#include <cstddef>
#include <span>

namespace hipq::core {

inline constexpr std::int32_t no_rate = no_named;

// After a crash, a rate with long periods counts what has been leased, not what has started: a
// process writes to a table that it may start jobs of some weight, before it starts the first of
// them. A rate with short periods counts as used up when the server starts, and when it is
// promoted.
inline constexpr std::int64_t longest_unleased = 10 * microseconds_per_second;
constexpr bool needs_leases(const Rate &rate)
{
    return (rate.mode == RateMode::exact ? rate.period : interval_of(rate, weight_unit)) >
           longest_unleased;
}
// The weight of one lease: a twentieth of the limit. A smooth rate leases each job.
constexpr Weight lease_of(const Rate &rate, Weight weight)
{
    constexpr Weight leases_per_period = 20;
    return rate.mode == RateMode::exact ? std::max(rate.weight / leases_per_period, weight)
                                        : weight;
}

struct RateEntry : NamedEntry {
    Rate rate;  // as last used
    RateRecord state;
    Weight leased;             // what is left of the latest lease
    std::int64_t lease_time;   // of that lease
    std::int64_t lease_begun;  // when a process last began to write one
    bool is_known;             // the leases of earlier lives of the server have been read
    Weight refused;            // of the lightest job that was refused; 0: none
};

// Places for starts, of a rate of a queue or type, and of a throttle key. A limit above their
// number loses at most that part of it (RateWindow).
inline constexpr std::size_t starts_per_rate = 128;
inline constexpr std::size_t starts_per_key = 16;

struct RateTableHead {
    NameTableHead table;
    std::int64_t began;  // when processes of this server could first start jobs
    bool has_begun;
    std::uint32_t refused_owner;  // there was no room for its last rate,
    std::int64_t refused_until;   // and it is not looked for before this time
};

// The rates that apply to a job.
struct StartRates {
    Rate queue{};
    Rate type{};
    Rate key{};                     // for each throttle key of the type
    std::uint32_t owner = 0;        // of the queue
    int owner_share = whole_table;  // per cent of the table that an owner may have
    constexpr bool any() const { return queue.is_set() || type.is_set() || key.is_set(); }
};
inline constexpr std::size_t rates_per_job = 3;

// A rate that a job is under, and for whom it is entered.
struct RateUse {
    LimiterName name;
    std::uint32_t owner;
    Rate rate;
};

class RateTable {
public:
    RateTable() = default;
    // starts: the same number of places for each entry.
    RateTable(RateTableHead *head, std::span<RateEntry> entries, std::span<Starts> starts,
              std::span<std::int32_t> buckets)
        : head_(head), table_(&head->table, entries, buckets), starts_(starts),
          places_(entries.empty() ? 0 : starts.size() / entries.size())
    {
    }

    void clear(std::int64_t now);
    // From now on processes of this server may start jobs: it has started, or was promoted. Later
    // calls do nothing.
    void begin(std::int64_t now);

    std::int32_t find(const LimiterName &name) const { return table_.find(name); }
    // no_rate: there is no room, or not for this owner.
    std::int32_t find_or_make(const RateUse &use, int owner_share, std::int64_t now);

    // What a job of some weight has to wait for.
    struct Answer {
        std::int64_t turn;  // may be admitted now: not later than now
        bool needs_lease;   // and the turn has come
    };
    Answer ask(std::int32_t entry, const Rate &rate, Weight weight, std::int64_t now) const;

    // See RateWindow. give_back() returns whether a refused job may be admitted now.
    void admit(std::int32_t entry, const Rate &rate, Weight weight);
    void start(std::int32_t entry, Weight weight, std::int64_t now, bool is_first_call);
    [[nodiscard]] bool give_back(std::int32_t entry, Weight weight);
    // A job is refused. The lightest refused weight is kept until a job is admitted or given back.
    void note_refused(std::int32_t entry, Weight weight);
    // Forgets the refused jobs of a database, which may be gone.
    void forget_refused(std::uint32_t database);

    // A process is going to write a lease: until then, no job is admitted under the present one.
    // Returns false if another process does so.
    [[nodiscard]] bool begin_lease(std::int32_t entry, std::int64_t now);
    // A lease of that time has been written and is safe: it allows starts of that weight, and no
    // more of the one before it. Does nothing if a later one was granted.
    void grant(std::int32_t entry, Weight weight, std::int64_t time);
    // Records leases of an earlier life of the server, in order, each at the latest time at which
    // its jobs may have started.
    void know(std::int32_t entry, const Rate &rate, std::span<const Starts> leases);

    RateWindow window(std::int32_t entry) const
    {
        return {at(entry).state,
                starts_.subspan(static_cast<std::size_t>(entry) * places_, places_)};
    }
    const RateEntry &operator[](std::int32_t entry) const { return at(entry); }
    std::span<const RateEntry> all() const { return table_.all(); }
    std::size_t size() const { return table_.size(); }

private:
    RateEntry &at(std::int32_t entry) const { return table_.at(entry); }
    RateTableHead *head_ = nullptr;
    NameTable<RateEntry> table_{};
    std::span<Starts> starts_{};
    std::size_t places_ = 0;
};

}  // namespace hipq::core
