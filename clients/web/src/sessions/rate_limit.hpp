// Limits attempts: this many at once, and then this many a minute.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <unordered_map>

namespace hipq::web {

class RateLimit {
public:
    using Clock = std::chrono::steady_clock;

    RateLimit(double burst, double per_minute) : burst_(burst), per_second_(per_minute / 60) {}

    // Counts an attempt. Returns how long to wait; zero: the attempt is allowed.
    std::chrono::seconds take(const std::string &key, Clock::time_point now = Clock::now());

    // Gives a successful attempt back.
    void give_back(const std::string &key);

private:
    struct Bucket {
        double tries;
        Clock::time_point at;
    };

    void forget_full_ones(Clock::time_point now);
    double tries_at(const Bucket &bucket, Clock::time_point now) const;

    static constexpr std::size_t most_keys = 10'000;
    double burst_;
    double per_second_;
    std::mutex mutex_;
    std::unordered_map<std::string, Bucket> buckets_;
};

}  // namespace hipq::web
