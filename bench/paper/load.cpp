// Computes how evenly the jobs of skewed keys spread over shards, also after shards are added and
// removed. Uses the shares of the keys, not random numbers.
#include "paper.hpp"

#include "core/shards/rebalance.hpp"

#include <algorithm>
#include <cstdio>

using namespace hipq::core;

namespace paper {

namespace {

// The load of shards, as multiples of the mean.
struct Spread {
    double most, least;
    int hottest;  // node
};

std::vector<NodeWeight> nodes_up_to(int shards)
{
    std::vector<NodeWeight> nodes{{router_node, 0}};
    for (int node = 1; node <= shards; ++node)
        nodes.push_back({node, 1'000});
    return nodes;
}

SlotMap moved(SlotMap map, const std::vector<SlotMove> &moves)
{
    for (const SlotMove &move : moves)
        map[static_cast<std::size_t>(move.slot)] = static_cast<std::int16_t>(move.to);
    return map;
}

SlotMap map_of(int shards)
{
    return moved({}, rebalance({}, nodes_up_to(shards)));
}

// Returns the load of each slot. A salted key counts as several keys.
std::vector<double> load_of_slots(const std::vector<double> &parts, int salts = 1, int salted = 0)
{
    std::vector<double> load(slot_count, 0);
    for (int key = 0; key < static_cast<int>(parts.size()); ++key) {
        const int pieces = key < salted ? salts : 1;
        for (int piece = 0; piece < pieces; ++piece) {
            std::string name = key_name(key + 1);
            if (pieces > 1)
                name += "#" + std::to_string(piece);
            load[static_cast<std::size_t>(slot_of(name))] +=
                parts[static_cast<std::size_t>(key)] / pieces;
        }
    }
    return load;
}

// Leaves out the router's only slot.
Spread spread(const SlotMap &map, const std::vector<double> &load, int shards)
{
    std::vector<double> of_node(node_count, 0);
    for (int slot = 1; slot < slot_count; ++slot)
        of_node[static_cast<std::size_t>(map[static_cast<std::size_t>(slot)])] +=
            load[static_cast<std::size_t>(slot)];
    double most = 0;
    double least = 1;
    int hottest = 0;
    for (int node = 1; node < node_count; ++node) {
        const double own = of_node[static_cast<std::size_t>(node)];
        if (own > most)
            hottest = node;
        most = std::max(most, own);
        least = own > 0 ? std::min(least, own) : least;
    }
    return {most * shards, least * shards, hottest};
}

constexpr double skews[] = {0, 0.5, 0.8, 1.0, 1.2};

// Prints how many slots a step of growth moves, and the load after it.
void print_step(const char *what, const SlotMap &map, const std::vector<NodeWeight> &nodes,
                const std::vector<double> &load, int shards)
{
    const std::vector<SlotMove> moves = rebalance(map, nodes);
    const Spread after = spread(moved(map, moves), load, shards);
    std::printf("%-44s %6zu %8.1f %% %9.2f %9.2f\n", what, moves.size(),
                100.0 * static_cast<double>(moves.size()) / slot_count, after.most, after.least);
}

// Returns the percentage of keys that would move if the shard were the hash modulo the number of
// shards.
double moved_by_modulo(int keys, int before, int after)
{
    int count = 0;
    for (int key = 1; key <= keys; ++key) {
        const std::uint64_t hash = shard_hash(key_name(key));
        const auto shard = [&](int shards) { return hash % static_cast<std::uint64_t>(shards); };
        count += shard(before) != shard(after) ? 1 : 0;
    }
    return 100.0 * count / keys;
}

}  // namespace

std::vector<double> slot_loads(const Setting &setting, const Skew &skew)
{
    return load_of_slots(zipf(setting.keys, skew.zipf), 8, skew.is_salted ? 16 : 0);
}

double fullest_shard(const std::vector<double> &loads, int shards)
{
    return spread(map_of(shards), loads, shards).most;
}

void print_load(const Setting &setting)
{
    std::printf("\nLoad of shards, times the mean, by the skew of the keys (Zipf)\n");
    std::printf("%6s %12s %12s %16s %22s\n", "skew", "most", "least", "hottest key",
                "most, 16 salted by 8");
    const SlotMap map = map_of(setting.shards);
    for (const double skew : skews) {
        const std::vector<double> parts = zipf(setting.keys, skew);
        const Spread plain = spread(map, load_of_slots(parts), setting.shards);
        const Spread salted = spread(map, load_of_slots(parts, 8, 16), setting.shards);
        std::printf("%6.1f %12.2f %12.2f %16.2f %22.2f\n", skew, plain.most, plain.least,
                    parts[0] * setting.shards, salted.most);
    }
}

void print_growth(const Setting &setting)
{
    const int shards = setting.shards;
    const SlotMap map = map_of(shards);
    for (const double skew : {0.0, 0.8}) {
        const std::vector<double> load = load_of_slots(zipf(setting.keys, skew));
        const Spread now = spread(map, load, shards);
        std::printf("\nGrowth, skew %.1f: load before %.2f to %.2f times the mean\n", skew,
                    now.least, now.most);
        std::printf("%-44s %6s %10s %9s %9s\n", "", "slots", "of all", "most", "least");
        print_step("one shard more", map, nodes_up_to(shards + 1), load, shards + 1);
        print_step("a quarter more", map, nodes_up_to(shards + shards / 4), load,
                   shards + shards / 4);
        std::vector<NodeWeight> without = nodes_up_to(shards);
        without[1].weight = 0;
        print_step("shard 1 drained", map, without, load, shards - 1);
        std::vector<NodeWeight> lighter = nodes_up_to(shards);
        lighter[static_cast<std::size_t>(now.hottest)].weight = 500;
        print_step("the hottest shard at half its weight", map, lighter, load, shards);
    }
    std::printf("hash modulo shards instead of slots, %d to %d shards: %.1f %% of the keys move\n",
                shards, shards + 1, moved_by_modulo(setting.keys, shards, shards + 1));
    const double rate = 1e6;
    const double lost = rate / shards;
    // A router has 8 shards. The replication slot of the lost shard keeps the WAL of all 8 shards,
    // with the WAL per job that bench/shard-costs measured at 1 kB.
    const double wal = lost * 8 * 1'164;
    const double outbox_max = 8'192.0 * 1'048'576;
    std::printf("\nOne shard lost at %.0f jobs/s in all, no skew: %.1f %% of the jobs wait\n", rate,
                100.0 / shards);
    std::printf("enqueueing for it is refused after %.0f s, by hipq.outbox_max = 8192 MB\n",
                outbox_max / wal);
    std::printf("%12s %14s %30s %24s\n", "away for", "jobs waiting", "WAL kept, GB (1 kB a job)",
                "caught up after (at 20k/s)");
    for (const int seconds : {10, 60, 600})
        std::printf("%10d s %14.0f %30.1f %22.0f s\n", seconds, lost * seconds, wal * seconds / 1e9,
                    lost * seconds / (20'000 - lost));
}

}  // namespace paper
