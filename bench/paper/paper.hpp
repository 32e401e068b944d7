// What the parts of bench/shards-on-paper share: the setting, and keys of which some are used more
// than others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace paper {

struct Setting {
    int shards = 64;
    int keys = 100'000;
    unsigned seed = 1;
    int seconds = 60;            // of a simulation of permits
    double latency_ms = 3;       // from shard to shard: two hops of logical replication
    int cores = 16;              // of a router
    double shard_rate = 20'000;  // jobs/s that a shard runs, assumed
};

// Of keys; the 16 that are used most are salted by 8 or not.
struct Skew {
    double zipf;
    bool is_salted;
};

// The part of all jobs that each key has: key k in proportion to 1 / k^skew.
std::vector<double> zipf(int keys, double skew);

std::string key_name(int key);

// The part of all jobs that each slot has, and the fullest of so many shards, times the mean.
std::vector<double> slot_loads(const Setting &setting, const Skew &skew);
double fullest_shard(const std::vector<double> &loads, int shards);

void print_load(const Setting &setting);
void print_growth(const Setting &setting);
void print_permits(const Setting &setting);
void print_servers(const Setting &setting);

}  // namespace paper
