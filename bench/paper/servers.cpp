// Computes how many routers and shards a load needs, only by processor time, from the results of
// bench/shard-costs. A process that serves one line of replication has at most one core.
#include "paper.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>

namespace paper {

namespace {

// us of processor time per job.
struct Costs {
    const char *name;
    double producer;
    double walsender;        // of the router, to the shard that gets the job
    double other_walsender;  // to each other shard
    double receive;          // the shard's apply worker
    double other_receive;    // the apply worker of each other shard
    double answer;           // the router's apply worker, for a job that runs on a shard
};

// Medians of bench/shard-costs. docs/scale.md has the machine and the settings.
constexpr Costs costs[] = {
    {"1,000 a transaction, 100 B", 6.95, 0.80, 0.15, 4.65, 0.05, 6.65},
    {"1,000 a transaction, 1 kB", 30.9, 2.75, 1.15, 11.35, 0.10, 7.20},
    {"the same, lz4", 9.30, 2.85, 1.05, 9.20, 0.05, 7.20},
    {"one by one, 100 B", 122, 36.0, 29.75, 211.5, 19.25, 6.65},
    {"one by one, 1 kB", 135.25, 37.0, 29.25, 222.75, 19.5, 7.20},
};

constexpr int shards_of_router = 8;
constexpr double full = 0.8;  // of a core, and of all cores of a router

// The processor time for the jobs of a second, in cores. `fullest`: the share of the fullest shard.
struct Use {
    double router, walsender, receiver;
};

Use use_of(const Costs &cost, double rate, int shards, double fullest)
{
    const double others = shards - 1;
    const double jobs = rate / 1e6;
    return {
        jobs * (cost.producer + cost.walsender + others * cost.other_walsender + cost.answer),
        jobs * (fullest * cost.walsender + (1 - fullest) * cost.other_walsender),
        jobs * (fullest * cost.receive + (1 - fullest) * cost.other_receive),
    };
}

bool fits(const Use &use, const Setting &setting)
{
    return use.router <= full * setting.cores && use.walsender <= full && use.receiver <= full;
}

// Returns the maximum jobs/s of one router and its shards.
double most_of_cell(const Setting &setting, const Costs &cost, int shards)
{
    const Use use = use_of(cost, 1, shards, 1.0 / shards);
    return full * std::min({setting.cores / use.router, 1 / use.walsender, 1 / use.receiver});
}

struct Servers {
    int routers, shards;
};

// Returns the load of the fullest shard, as a multiple of the mean; computed only once.
class Fullest {
public:
    Fullest(const Setting &setting, const Skew &skew) : loads_(slot_loads(setting, skew)) {}

    double of(int shards)
    {
        const auto [known, is_new] = known_.try_emplace(shards);
        if (is_new)
            known->second = fullest_shard(loads_, shards);
        return known->second;
    }

private:
    std::vector<double> loads_;
    std::map<int, double> known_;
};

std::optional<Servers> servers_for(const Setting &setting, const Costs &cost, double rate,
                                   Fullest &skewed)
{
    const int least = static_cast<int>(std::ceil(rate / setting.shard_rate));
    for (int shards = std::max(2, least); shards < 1'000; ++shards) {
        const double fullest = skewed.of(shards);
        if (rate * fullest / shards > setting.shard_rate)
            continue;
        const int routers = (shards + shards_of_router - 1) / shards_of_router;
        const int of_router = (shards + routers - 1) / routers;
        // In the worst case the fullest shard gets all jobs of its router.
        const double part = std::min(1.0, fullest / of_router);
        if (fits(use_of(cost, rate / routers, of_router, part), setting))
            return Servers{routers, shards};
    }
    return std::nullopt;
}

}  // namespace

void print_servers(const Setting &setting)
{
    std::printf("\nOne router of %d cores and its shards, jobs/s at most, no skew, %.0f %% full\n",
                setting.cores, 100 * full);
    std::printf("%-28s %12s %12s %12s %18s\n", "", "2 shards", "4 shards", "8 shards",
                "us a job, 8 shards");
    for (const Costs &cost : costs)
        std::printf("%-28s %12.0f %12.0f %12.0f %18.1f\n", cost.name,
                    most_of_cell(setting, cost, 2), most_of_cell(setting, cost, 4),
                    most_of_cell(setting, cost, 8), use_of(cost, 1e6, 8, 1.0 / 8).router);
    std::printf("\nRouters + shards, %.0f jobs/s a shard at most, 8 shards a router at most\n",
                setting.shard_rate);
    std::printf("%-28s %10s %14s %14s %22s\n", "", "jobs/s", "skew 0", "skew 0.8",
                "0.8, 16 salted by 8");
    Fullest skews[] = {{setting, {0, false}}, {setting, {0.8, false}}, {setting, {0.8, true}}};
    for (const Costs &cost : costs) {
        for (const double rate : {33'000.0, 100'000.0, 1'000'000.0}) {
            std::printf("%-28s %10.0f", cost.name, rate);
            for (Fullest &skew : skews) {
                const std::optional<Servers> servers = servers_for(setting, cost, rate, skew);
                if (servers.has_value())
                    std::printf(" %8d + %3d", servers->routers, servers->shards);
                else
                    std::printf(" %14s", "none");
            }
            std::printf("\n");
        }
    }
}

}  // namespace paper
