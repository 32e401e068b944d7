// Simulates how much of a limit that all shards share is used, event by event: jobs start and end,
// shards ask, and the authority answers by the rules of core/shards/permits.hpp.
#include "paper.hpp"

#include "core/shards/permits.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <queue>
#include <random>

using namespace hipq::core;

namespace paper {

namespace {

using Microseconds = std::int64_t;

// The shards that have work.
enum class Pattern {
    steady,    // all shards, always
    shifting,  // one shard in eight, different ones each second
    busy,      // jobs arrive by Zipf 1.0, at 90% of the limit
    too_many,  // the same at 150% of the limit
};

constexpr bool jobs_come(Pattern pattern)
{
    return pattern == Pattern::busy || pattern == Pattern::too_many;
}

struct Case {
    Pattern pattern;
    Weight limit;  // jobs
    Microseconds job;
};

struct Result {
    double use;       // of the limit, in the mean
    Weight most;      // jobs at once
    double messages;  // a second
    double starts;
    double mean_wait_ms;  // of arriving jobs
};

// The minimum time between two requests of a shard.
constexpr Microseconds ask_gap = 20'000;

class Simulation {
public:
    Simulation(const Setting &setting, const Case &given)
        : setting_(setting), case_(given), random_(setting.seed),
          latency_(static_cast<Microseconds>(setting.latency_ms * 1000)),
          end_(Microseconds{setting.seconds} * 1'000'000),
          authority_(new_authority(1, given.limit * weight_unit, {}))
    {
        for (int n = 0; n < setting.shards; ++n) {
            add_node(authority_, n);
            nodes_.push_back({});
            nodes_.back().share.epoch = 1;
        }
    }

    Result run()
    {
        begin_work();
        at(permit_turn, [this] { pass(); });
        for (int n = 0; n < setting_.shards; ++n)
            at(permit_refresh + n * permit_refresh / setting_.shards, [this, n] { refresh(n); });
        while (!events_.empty() && events_.top().time <= end_) {
            const Event event = events_.top();
            events_.pop();
            pass_time(event.time);
            event.what();
        }
        pass_time(end_);
        const double seconds = static_cast<double>(end_) / 1e6;
        return {area_ / static_cast<double>(case_.limit) / static_cast<double>(end_), most_,
                static_cast<double>(messages_) / seconds, static_cast<double>(starts_) / seconds,
                starts_ == 0 ? 0 : wait_ / 1000 / static_cast<double>(starts_)};
    }

private:
    struct Node {
        PermitShare share;
        Weight running = 0;
        bool has_endless_work = false;
        std::queue<Microseconds> waiting;  // since when
        Microseconds asked_at = -ask_gap;
        bool will_look = false;
    };
    struct Event {
        Microseconds time;
        std::int64_t number;
        std::function<void()> what;
        bool operator<(const Event &other) const
        {
            return std::pair(time, number) > std::pair(other.time, other.number);
        }
    };

    void at(Microseconds time, std::function<void()> what)
    {
        events_.push({time, ++last_event_, std::move(what)});
    }
    void pass_time(Microseconds time)
    {
        area_ += static_cast<double>(running_) * static_cast<double>(time - now_);
        now_ = time;
    }
    Node &node(int n) { return nodes_[static_cast<std::size_t>(n)]; }

    // ---- work

    void begin_work()
    {
        if (case_.pattern == Pattern::steady)
            for (int n = 0; n < setting_.shards; ++n)
                at(0, [this, n] { give_endless_work(n, true); });
        if (case_.pattern == Pattern::shifting)
            at(0, [this] { shift(); });
        if (jobs_come(case_.pattern)) {
            parts_ = zipf(setting_.shards, 1.0);
            for (int n = 0; n < setting_.shards; ++n)
                wait_for_arrival(n);
        }
    }
    void give_endless_work(int n, bool has_any)
    {
        node(n).has_endless_work = has_any;
        look(n);
    }
    void shift()
    {
        std::vector<int> order(nodes_.size());
        for (std::size_t i = 0; i < order.size(); ++i)
            order[i] = static_cast<int>(i);
        std::shuffle(order.begin(), order.end(), random_);
        for (std::size_t i = 0; i < order.size(); ++i)
            give_endless_work(order[i], i < order.size() / 8);
        at(now_ + 1'000'000, [this] { shift(); });
    }
    void wait_for_arrival(int n)
    {
        const double load = case_.pattern == Pattern::busy ? 0.9 : 1.5;
        const double rate = load * static_cast<double>(case_.limit) /
                            static_cast<double>(case_.job) * parts_[static_cast<std::size_t>(n)];
        const double gap = std::exponential_distribution<double>(rate)(random_);
        at(now_ + static_cast<Microseconds>(gap), [this, n] {
            node(n).waiting.push(now_);
            look(n);
            wait_for_arrival(n);
        });
    }

    // ---- a shard

    bool has_work(const Node &each) const { return each.has_endless_work || !each.waiting.empty(); }
    PermitNeed need(const Node &each) const
    {
        const Weight jobs =
            each.has_endless_work ? case_.limit : static_cast<Weight>(each.waiting.size());
        return {each.running * weight_unit, (each.running + jobs) * weight_unit,
                has_work(each) ? weight_unit : 0};
    }
    void look(int n)
    {
        Node &each = node(n);
        while (has_work(each) && may_start(each.share, each.running * weight_unit, weight_unit))
            start(n);
        if (!should_ask(each.share, need(each)) || each.will_look)
            return;
        if (now_ >= each.asked_at + ask_gap) {
            ask_now(n);
            return;
        }
        each.will_look = true;
        at(each.asked_at + ask_gap, [this, n] {
            node(n).will_look = false;
            look(n);
        });
    }
    void start(int n)
    {
        Node &each = node(n);
        if (!each.has_endless_work) {
            wait_ += static_cast<double>(now_ - each.waiting.front());
            each.waiting.pop();
        }
        ++each.running;
        most_ = std::max(most_, ++running_);
        ++starts_;
        const auto length =
            static_cast<Microseconds>(static_cast<double>(case_.job) *
                                      std::uniform_real_distribution<double>(0.5, 1.5)(random_));
        at(now_ + length, [this, n] {
            --node(n).running;
            --running_;
            look(n);
        });
    }
    void ask_now(int n)
    {
        Node &each = node(n);
        each.asked_at = now_;
        const PermitRequest request = ask(each.share, n, need(each));
        ++messages_;
        at(now_ + latency_, [this, request] { send(take_request(authority_, request)); });
    }
    void refresh(int n)
    {
        if (should_refresh(node(n).share, need(node(n))))
            ask_now(n);
        at(now_ + permit_refresh, [this, n] { refresh(n); });
    }

    // ---- the authority

    void send(const std::vector<PermitAnswer> &answers)
    {
        for (const PermitAnswer &answer : answers) {
            ++messages_;
            at(now_ + latency_, [this, answer] {
                take_answer(node(answer.node).share, answer);
                look(answer.node);
            });
        }
    }
    void pass()
    {
        send(pass_turn(authority_));
        at(now_ + permit_turn, [this] { pass(); });
    }

    Setting setting_;
    Case case_;
    std::mt19937 random_;
    Microseconds latency_;
    Microseconds end_;
    PermitAuthority authority_;
    std::vector<Node> nodes_;
    std::vector<double> parts_;
    std::priority_queue<Event> events_;
    std::int64_t last_event_ = 0;
    Microseconds now_ = 0;
    Weight running_ = 0;
    Weight most_ = 0;
    std::int64_t starts_ = 0;
    std::int64_t messages_ = 0;
    double area_ = 0;
    double wait_ = 0;
};

void print_pattern(const Setting &setting, const char *what, Pattern pattern)
{
    std::printf("\nA limit that all shards share: %s\n", what);
    std::printf("%6s %8s %9s %9s %12s %10s", "limit", "job, ms", "used", "at once", "messages/s",
                "starts/s");
    std::printf(pattern == Pattern::busy ? " %14s\n" : "\n", "mean wait, ms");
    for (const Weight limit : {10, 100, 1'000})
        for (const Microseconds job : {20'000, 50'000, 80'000}) {
            const Result result = Simulation(setting, {pattern, limit, job}).run();
            std::printf("%6lld %8lld %7.1f %% %9lld %12.0f %10.0f", static_cast<long long>(limit),
                        static_cast<long long>(job / 1000), 100 * result.use,
                        static_cast<long long>(result.most), result.messages, result.starts);
            if (pattern == Pattern::busy)
                std::printf(" %14.1f", result.mean_wait_ms);
            std::printf("\n");
        }
}

}  // namespace

void print_permits(const Setting &setting)
{
    print_pattern(setting, "all have work, always", Pattern::steady);
    print_pattern(setting, "one in eight has work, others each second", Pattern::shifting);
    print_pattern(setting, "jobs come by Zipf 1.0, nine tenths of the limit", Pattern::busy);
    print_pattern(setting, "jobs come by Zipf 1.0, half as many again", Pattern::too_many);
}

}  // namespace paper
