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
    int seconds = 60;       // of a simulation of permits
    double latency_ms = 3;  // from shard to shard: two hops of logical replication
};

// The part of all jobs that each key has: key k in proportion to 1 / k^skew.
std::vector<double> zipf(int keys, double skew);

std::string key_name(int key);

void print_load(const Setting &setting);
void print_growth(const Setting &setting);
void print_permits(const Setting &setting);

}  // namespace paper
