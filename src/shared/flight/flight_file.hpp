// The file of the flight recorder on disk and in memory. What stands in it:
// core/recovery/flight_log.hpp.
#pragma once

#include "pg/postgres.hpp"
#include "core/recovery/flight_log.hpp"

namespace hipq::flight {

// It lies in pg_stat_tmp, which no PostgreSQL since 15 clears at a start and no base backup copies.
inline constexpr const char *flight_file_name = PG_STAT_TMP_DIR "/hipq_flight_recorder";

// The parts of the mapped file.
struct FlightMemory {
    core::FlightHeader *header;
    core::FlightSlot *slots;
    std::span<core::CrashCase> cases;
    std::size_t size;
};

// This server, on this machine since its last start.
core::FlightStamp own_flight_stamp();

// What the last life of the server left; nothing unless it is an ordinary file of a size that can
// be.
std::vector<std::byte> read_flight_file();

// Writes a new file in full, so that no store can meet a hole on a full disk, and maps it before it
// takes the place of the last one. Nothing: errno says why; there is no file then, since stale
// evidence is worse than none.
std::optional<FlightMemory> replace_flight_file(std::span<const std::byte> content);

void unmap_flight_file(const FlightMemory &memory);

}  // namespace hipq::flight
