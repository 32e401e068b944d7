// Shared by the parts of bench/shards-on-paper: the setting, and keys with a skewed use.
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

// The skew of keys. is_salted: the 16 most frequent keys are salted by 8.
struct Skew {
    double zipf;
    bool is_salted;
};

// Returns the share of each key in all jobs: key k in proportion to 1 / k^skew.
std::vector<double> zipf(int keys, double skew);

std::string key_name(int key);

// Return the share of each slot in all jobs; the load of the fullest shard, as a multiple of the
// mean.
std::vector<double> slot_loads(const Setting &setting, const Skew &skew);
double fullest_shard(const std::vector<double> &loads, int shards);

void print_load(const Setting &setting);
void print_growth(const Setting &setting);
void print_permits(const Setting &setting);
void print_servers(const Setting &setting);

}  // namespace paper
