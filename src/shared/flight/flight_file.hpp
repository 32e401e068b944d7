// The flight recorder's file, on disk and in memory; core/recovery/flight_log.hpp describes its
// contents.
#pragma once

#include "pg/postgres.hpp"
#include "core/recovery/flight_log.hpp"

namespace hipq::flight {

// The file is in pg_stat_tmp, which PostgreSQL since version 15 does not clear at start, and which
// base backups do not copy.
inline constexpr const char *flight_file_name = PG_STAT_TMP_DIR "/hipq_flight_recorder";

// The parts of the mapped file.
struct FlightMemory {
    core::FlightHeader *header;
    core::FlightSlot *slots;
    std::span<core::CrashCase> cases;
    std::size_t size;
};

// Identifies this server, on this machine since it was last booted.
core::FlightStamp own_flight_stamp();

// Reads what the previous run of the server left. Empty unless the file is a regular file of a
// plausible size.
std::vector<std::byte> read_flight_file();

// Writes a new file in full, so that no store can hit a hole on a full disk, and maps it before it
// replaces the old one. On failure returns nothing, with errno set; then there is no file, since
// stale evidence is worse than none.
std::optional<FlightMemory> replace_flight_file(std::span<const std::byte> content);

void unmap_flight_file(const FlightMemory &memory);

}  // namespace hipq::flight
