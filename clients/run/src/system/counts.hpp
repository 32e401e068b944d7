// The counters of hipq-run, in Prometheus' format.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

namespace hipq::run {

class Counts {
public:
    // A job has ended with this outcome: succeeded, failed, released or lost; it took this many
    // seconds.
    void ended(const std::string &how, double seconds);
    void reconnected() { ++connections_lost_; }

    // Values that are read at each request.
    struct Now {
        int running;
        bool is_connected;
        int answers_waiting;
        std::uint64_t spans_exported;
        std::uint64_t spans_dropped;
    };
    // In Prometheus' text format.
    std::string text(const Now &now) const;

private:
    static constexpr std::array<double, 8> bounds{0.01, 0.1, 0.5, 1, 5, 30, 300, 3600};

    std::map<std::string, std::uint64_t> ended_{
        {"succeeded", 0}, {"failed", 0}, {"released", 0}, {"lost", 0}};
    std::array<std::uint64_t, bounds.size() + 1> seconds_{};
    double all_seconds_ = 0;
    std::uint64_t connections_lost_ = 0;
};

}  // namespace hipq::run
