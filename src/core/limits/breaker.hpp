// The breaker of a job type: it stops the type when too many of its attempts fail, and lets one job
// after the other try until one succeeds.
//
//              enough attempts of the window failed                  until has passed,
//    closed ------------------------------------------> open ------------------------+
//      ^                                                  ^                           | a job
//      |            the probe succeeded                   |  the probe failed         v starts
//      +--------------------------------------------------+---------------------- half open
//
// Each job that starts is given the generation of the breaker. An end counts only if its generation
// is the present one: what started before the breaker opened says nothing of the time after it. A
// probe that is gone without an end that counts makes room for the next probe.
//
// Times are microseconds of one clock that is never set back. Plain data and straight-line code,
// because it lives in shared memory under a lock.
#pragma once

#include "core/time.hpp"

#include <array>
#include <cstdint>

namespace hipq::core {

struct BreakerRule {
    std::int32_t percent = 0;   // of the attempts fail: it opens; 0: no breaker
    std::int32_t attempts = 0;  // that must have ended within the window
    std::int64_t window = 0;    // microseconds
    std::int64_t open = 0;      // microseconds
    constexpr bool is_set() const { return percent > 0; }
    bool operator==(const BreakerRule &) const = default;
};

enum class BreakerState : std::uint8_t { closed, open, half_open };

// Why it is open.
enum class BreakerCause : std::uint8_t {
    attempts,  // too many failed
    probe,     // the probe failed
    row,       // its row in hipq.breaker_state says it: a user opened it, or the server restarted
};

// How an attempt ended, as far as a breaker counts it.
enum class AttemptEnd : std::uint8_t { uncounted, succeeded, failed };

// Attempts that ended in a part of the window.
struct EndCount {
    std::int32_t ended;
    std::int32_t failed;
};
// The oldest part is forgotten as a whole: of the window, at least fifteen sixteenths count.
inline constexpr std::size_t breaker_parts = 16;

// An opened breaker. `until` core::never: until a user closes it.
struct BreakerOpening {
    std::int64_t since = 0;
    std::int64_t until = 0;
    BreakerCause cause = BreakerCause::row;
    EndCount counted{};  // attempts that opened it
};

// All zero: closed, and no attempt has ended.
struct BreakerRecord {
    BreakerState state;
    bool has_probe;            // half open: a job is trying
    std::uint32_t generation;  // changes with the state, and with each probe
    BreakerOpening opening;    // if it is not closed
    std::int64_t newest;       // number of the newest part of the window
    std::array<EndCount, breaker_parts> parts;
};

class Breaker {
public:
    explicit Breaker(BreakerRecord &record) : record_(record) {}

    // How many jobs may start now: any number, one as a probe, or none before `until` or the end of
    // the probe.
    enum class Answer : std::uint8_t { any, one, none };
    Answer ask(const BreakerRule &rule, std::int64_t now) const;
    // A job starts. Call it only if the answer is not `none`. Returns the generation of the job.
    std::uint32_t admit(const BreakerRule &rule);
    // A job of that generation is gone without an end that counts. Returns whether it was the
    // probe.
    [[nodiscard]] bool give_back(std::uint32_t generation);
    // An attempt of that generation ended. Returns whether the breaker has opened or closed.
    [[nodiscard]] bool end(const BreakerRule &rule, std::uint32_t generation, bool has_failed,
                           std::int64_t now);
    bool is_current(std::uint32_t generation) const { return record_.generation == generation; }

    void open(const BreakerOpening &opening);
    void close();
    // Forgets the attempts that have ended, because another window is to count them: its parts have
    // other numbers.
    void forget_ends()
    {
        record_.parts = {};
        record_.newest = 0;
    }
    // Attempts that count now.
    EndCount counted(const BreakerRule &rule, std::int64_t now) const;

private:
    void count(const BreakerRule &rule, bool has_failed, std::int64_t now);
    BreakerRecord &record_;
};

}  // namespace hipq::core
