// Computes the slot of a key: the hash that places jobs on shards.
//
// An instance has 4096 slots; a map assigns them to nodes (route.hpp). The hash must never change:
// a different one would look for every job on the wrong node. So it is none of PostgreSQL's own
// hash functions, which may change with a release, and docs/reference/slots.md publishes its
// results for some keys.
#pragma once

#include <cstdint>
#include <string_view>

namespace hipq::core {

inline constexpr int slot_bits = 12;
inline constexpr int slot_count = 1 << slot_bits;

// Hashes the key's bytes, in UTF-8: FNV-1a with 64 bits, mixed by the finalizer of MurmurHash3.
// With FNV alone the upper bits of short keys are alike, and slots are made of these bits.
constexpr std::uint64_t shard_hash(std::string_view key)
{
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char each : key)
        hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3U;
    hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdU;
    hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53U;
    return hash ^ (hash >> 33);
}

// The upper bits of the hash. A further division of one node's jobs must use lower bits, because
// the upper ones are alike there.
constexpr int slot_of_hash(std::uint64_t hash)
{
    return static_cast<int>(hash >> (64 - slot_bits));
}

constexpr int slot_of(std::string_view key)
{
    return slot_of_hash(shard_hash(key));
}

}  // namespace hipq::core
