// The flight recorder's file: what it looks like, and the reading of what the server's last life
// left in it.
//
// The file is memory that executors write to and that outlives them: plain data, one slot per
// executor. A slot names its jobs first, then one store of its word makes them count. Whoever reads
// it after a crash believes nothing: every number is checked, and what does not fit is left out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace hipq::core {

inline constexpr std::size_t max_flight_slots = 1'000;  // executors that are recorded
inline constexpr std::size_t max_flight_jobs = 1'000;   // of one executor: a batch
inline constexpr std::size_t max_crash_cases = 2'048;

// Whose file it is. One with other stamps tells of another server, or of a machine that was started
// anew since.
struct FlightStamp {
    std::uint64_t system_identifier;
    std::array<char, 40> boot_id;  // filled up with zeros; all zeros: the machine tells none
    std::int64_t server_start;     // for people: the reader does not compare it
};

// How a process of hipq was told to quit.
enum class QuitMark : std::uint8_t { none, crash, stop };

// An attempt that an executor has in flight. Attempt 0: not the job runs, its retry handler is
// asked.
struct FlightJob {
    std::int64_t id;
    std::int32_t attempt;
    std::int32_t unused;
};

// What one executor runs. `word` says how many of `jobs` count, how the process was told to quit,
// and, that a reader sees changes, the number of the recording.
struct FlightSlot {
    std::uint64_t word;
    std::uint32_t check;
    std::uint32_t database;
    std::int32_t queue_id;
    std::int32_t pid;
    std::int64_t started;
    FlightJob jobs[max_flight_jobs];
};

// The parts of a slot's word.
struct FlightWord {
    std::uint32_t generation;
    QuitMark mark;
    std::uint16_t count;
};
constexpr std::uint64_t pack(FlightWord word)
{
    return std::uint64_t{word.generation} << 32 |
           std::uint64_t{static_cast<std::uint8_t>(word.mark)} << 16 | word.count;
}
constexpr FlightWord unpack(std::uint64_t word)
{
    return {static_cast<std::uint32_t>(word >> 32), static_cast<QuitMark>(word >> 16 & 0xff),
            static_cast<std::uint16_t>(word)};
}

// What crashes left to be done about one job; crash_report.hpp. Kept in the file until it is done.
struct CrashCase {
    std::int64_t job_id;  // 0: none
    std::int64_t started;
    std::int64_t crashed;  // when it was that its type may have taken the server down; 0: it did
                           // not, or that was dealt with
    std::uint32_t database;
    std::int32_t queue_id;
    std::int32_t attempt;
    std::int32_t pid;  // of the executor that ran it
    std::uint8_t charge_due;
    std::uint8_t return_due;
    std::uint8_t runs_alone;
    std::uint8_t sightings;
    std::uint8_t with_others;  // then, a job of another queue may have been it as well
    std::uint8_t unused[7];
    std::uint32_t check;
};

// Crashes that a handler may have made, one soon after the other.
struct CrashStreak {
    std::int64_t last;  // when the latest was, microseconds
    std::int64_t count;
};

// The head of the file. `check` covers what stands before it; what comes after changes while the
// server lives.
struct FlightHeader {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t slot_count;
    std::uint32_t case_count;
    std::uint32_t slot_size;
    FlightStamp stamp;
    CrashStreak streak;
    std::uint64_t check;
    std::uint64_t
        quit_for_crash;  // a process of hipq was told to quit because another one had crashed
    std::uint64_t quit_for_stop;  // ... because of an immediate stop
};
static_assert(sizeof(FlightHeader) == 120 && sizeof(FlightSlot) == 32 + 16 * max_flight_jobs &&
              sizeof(CrashCase) == 56);
static_assert(sizeof(FlightHeader) % 8 == 0 && sizeof(FlightSlot) % 8 == 0 &&
              sizeof(CrashCase) % 8 == 0);

constexpr std::size_t flight_log_size(std::size_t slots)
{
    return sizeof(FlightHeader) + slots * sizeof(FlightSlot) + max_crash_cases * sizeof(CrashCase);
}

// The checks of what an executor writes before its slot's word, and of a case.
std::uint32_t check_of(const FlightSlot &slot, std::uint32_t generation, std::size_t count);
std::uint32_t check_of(const CrashCase &entry);

// A new file, with the cases that are still open (those past max_crash_cases are left out).
std::vector<std::byte> new_flight_log(const FlightStamp &stamp, std::size_t slots,
                                      std::span<const CrashCase> cases, CrashStreak streak = {});

// A slot that had jobs when the server's last life ended.
struct FlightSlotRead {
    QuitMark mark;
    std::uint32_t database;
    std::int32_t queue_id;
    std::int32_t pid;
    std::int64_t started;
    std::vector<FlightJob> jobs;
};

// What a file says, as far as it can be believed.
struct FlightLog {
    bool quit_for_crash;
    bool quit_for_stop;
    std::vector<FlightSlotRead> slots;
    std::vector<CrashCase> cases;
    CrashStreak streak{};
};

// Nothing: it is no flight recorder, of another version, incomplete, damaged, or not this server's
// since the machine was started.
std::optional<FlightLog> read_flight_log(std::span<const std::byte> file, const FlightStamp &stamp);

// The stamp's form of a boot id as the system tells it; too long a one is none.
std::array<char, 40> boot_id_of(std::string_view text);

}  // namespace hipq::core
