// The breakers of job types in use, in a table that can live in shared memory (name_table.hpp).
//
// A breaker that is not closed has a row in hipq.breaker_state, which the catalogue has. Each
// opening and closing is a change with a number, and the row has the number of its change. A new
// entry, or one that has missed a change, learns of it from the row: the higher number is the later
// change. Times are microseconds of the clock of breaker.hpp. The caller does the locking.
#pragma once

#include "core/limits/breaker.hpp"
#include "core/limits/name_table.hpp"

namespace hipq::core {

inline constexpr std::int32_t no_breaker = no_named;

// What the row says. Change 0: there is no row.
struct BreakerRow {
    std::int64_t change = 0;
    std::int64_t since = 0;
    std::int64_t until = 0;
};

// The breaker that applies to a job.
struct StartBreaker {
    BreakerRule rule{};
    BreakerRow row{};
    std::uint32_t owner = 0;        // of the queue
    int owner_share = whole_table;  // per cent of the table that an owner may have
    constexpr bool any() const { return rule.is_set() || row.change != 0; }
};

struct BreakerEntry : NamedEntry {
    BreakerRule rule;  // as last used
    BreakerRecord record;
    std::int32_t jobs;        // in flight that it admitted
    bool is_refusing;         // jobs were refused; their process must be notified
    std::int64_t change;      // the number of the latest change
    std::int64_t saved;       // the latest change that hipq.breaker_state tells of
    std::int64_t changed_at;  // when the latest change was made here
};

// A change by a user.
struct BreakerOrder {
    BreakerState state = BreakerState::closed;  // or open
    BreakerRow row{};                           // the change, and its times
};

class BreakerTable {
public:
    BreakerTable() = default;
    BreakerTable(NameTableHead *head, std::span<BreakerEntry> entries,
                 std::span<std::int32_t> buckets)
        : table_(head, entries, buckets)
    {
    }

    void clear() { table_.clear(); }
    std::int32_t find(const LimiterName &name) const { return table_.find(name); }
    // Also learns what the row says. no_breaker: there is no room, or not for this owner.
    std::int32_t find_or_make(const LimiterName &name, const StartBreaker &wanted,
                              std::int64_t now);

    // See Breaker. A refused job is remembered until others may start.
    Breaker::Answer ask(std::int32_t entry, const BreakerRule &rule, std::int64_t now);
    std::uint32_t admit(std::int32_t entry, const BreakerRule &rule, std::int64_t now);
    bool is_current(std::int32_t entry, std::uint32_t generation) const
    {
        return at(entry).record.generation == generation;
    }
    // A job that was admitted is gone without an end that counts, or has ended. Both return whether
    // to notify a process of refused jobs.
    [[nodiscard]] bool give_back(std::int32_t entry, std::uint32_t generation);
    [[nodiscard]] bool end(std::int32_t entry, std::uint32_t generation, bool has_failed,
                           std::int64_t now);
    // Carries out a change by a user, which comes after all others. Returns the same.
    [[nodiscard]] bool order(std::int32_t entry, const BreakerOrder &order, std::int64_t now);

    // hipq.breaker_state tells of this change.
    void note_saved(std::int32_t entry, std::int64_t change);
    bool is_unsaved(std::int32_t entry) const { return at(entry).saved != at(entry).change; }

    const BreakerEntry &operator[](std::int32_t entry) const { return at(entry); }
    std::span<const BreakerEntry> all() const { return table_.all(); }
    std::size_t size() const { return table_.size(); }

private:
    BreakerEntry &at(std::int32_t entry) const { return table_.at(entry); }
    void learn(BreakerEntry &entry, const BreakerRow &row, std::int64_t now);
    bool is_idle(const BreakerEntry &entry, std::int64_t now) const;
    NameTable<BreakerEntry> table_{};
};

// What the row of an entry says, or should say.
BreakerRow row_of(const BreakerEntry &entry);

}  // namespace hipq::core
