// The file of the flight recorder: its layout, and how to read what the server's last life left in
// it.
//
// The file is memory that executors write to and that outlives them: plain data, one slot per
// executor. An executor writes its jobs to its slot first, then makes them count by one store of
// the slot's word. The reader after a crash trusts nothing: it checks every number and ignores what
// is inconsistent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace hipq::core {

inline constexpr std::size_t max_flight_slots = 1'000;  // that are recorded
inline constexpr std::size_t max_flight_jobs = 1'000;   // of one executor: a batch
inline constexpr std::size_t max_crash_cases = 2'048;

// Identifies the server of a file. A file with other values belongs to another server, or was
// written before the machine last booted.
struct FlightStamp {
    std::uint64_t system_identifier;
    std::array<char, 40> boot_id;  // padded with zeros; all zeros: the machine provides none
    std::int64_t server_start;     // for people: the reader does not compare it
};

// How a process of hipq was told to quit.
enum class QuitMark : std::uint8_t { none, crash, stop };

// An attempt that an executor has in flight. Attempt 0: its retry handler runs, not the job itself.
struct FlightJob {
    std::int64_t id;
    std::int32_t attempt;
    std::int32_t unused;
};

// What one executor runs. `word` tells how many of `jobs` count and how the process was told to
// quit, and has the number of the recording, so that a reader notices changes.
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

// Work that crashes left to do for one job; crash_report.hpp. Kept in the file until it is done.
struct CrashCase {
    std::int64_t job_id;  // 0: none
    std::int64_t started;
    std::int64_t crashed;  // when its type may have taken the server down; 0: it did not, or that
                           // was dealt with
    std::uint32_t database;
    std::int32_t queue_id;
    std::int32_t attempt;
    std::int32_t pid;  // of the executor that ran it
    std::uint8_t charge_due;
    std::uint8_t return_due;
    std::uint8_t runs_alone;
    std::uint8_t sightings;
    std::uint8_t
        with_others;  // at that time, a job of another queue may have been the cause as well
    std::uint8_t unused[7];
    std::uint32_t check;
};

// Crashes in quick succession that a handler may have caused.
struct CrashStreak {
    std::int64_t last;  // time of the latest, microseconds
    std::int64_t count;
};

// The header of the file. `check` covers the fields before it; those after it change while the
// server runs.
struct FlightHeader {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t slot_count;
    std::uint32_t case_count;
    std::uint32_t slot_size;
    FlightStamp stamp;
    CrashStreak streak;
    std::uint64_t check;
    std::uint64_t quit_for_crash;  // a process of hipq was told to quit because another one crashed
    std::uint64_t quit_for_stop;   // ... because of an immediate stop
};
static_assert(sizeof(FlightHeader) == 120 && sizeof(FlightSlot) == 32 + 16 * max_flight_jobs &&
              sizeof(CrashCase) == 56);
static_assert(sizeof(FlightHeader) % 8 == 0 && sizeof(FlightSlot) % 8 == 0 &&
              sizeof(CrashCase) % 8 == 0);

constexpr std::size_t flight_log_size(std::size_t slots)
{
    return sizeof(FlightHeader) + slots * sizeof(FlightSlot) + max_crash_cases * sizeof(CrashCase);
}

// Checksums of what an executor writes before its slot's word, and of a case.
std::uint32_t check_of(const FlightSlot &slot, std::uint32_t generation, std::size_t count);
std::uint32_t check_of(const CrashCase &entry);

// Returns a new file with the cases that are still open (those beyond max_crash_cases are omitted).
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

// The contents of a file, as far as they are credible.
struct FlightLog {
    bool quit_for_crash;
    bool quit_for_stop;
    std::vector<FlightSlotRead> slots;
    std::vector<CrashCase> cases;
    CrashStreak streak{};
};

// Nothing: the file is no flight recorder, has another version, is incomplete or damaged, or was
// not written by this server since the machine booted.
std::optional<FlightLog> read_flight_log(std::span<const std::byte> file, const FlightStamp &stamp);

// Returns the system's boot id in the form of the stamp; one that is too long counts as none.
std::array<char, 40> boot_id_of(std::string_view text);

}  // namespace hipq::core
