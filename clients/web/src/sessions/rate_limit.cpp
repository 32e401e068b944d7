// Limits attempts: this many at once, and then this many a minute.
#include "sessions/rate_limit.hpp"

#include <algorithm>
#include <cmath>

namespace hipq::web {

double RateLimit::tries_at(const Bucket &bucket, Clock::time_point now) const
{
    const std::chrono::duration<double> passed = now - bucket.at;
    return std::min(burst_, bucket.tries + passed.count() * per_second_);
}

// A full entry can be forgotten. If that is not enough, all entries are forgotten except those with
// nothing left.
void RateLimit::forget_full_ones(Clock::time_point now)
{
    std::erase_if(buckets_,
                  [&](const auto &entry) { return tries_at(entry.second, now) >= burst_; });
    if (buckets_.size() >= most_keys)
        std::erase_if(buckets_,
                      [&](const auto &entry) { return tries_at(entry.second, now) >= 1; });
}

std::chrono::seconds RateLimit::take(const std::string &key, Clock::time_point now)
{
    const std::lock_guard lock(mutex_);
    if (buckets_.size() >= most_keys)
        forget_full_ones(now);
    // Attempts under ten thousand names: other names are refused until this is over.
    if (buckets_.size() >= most_keys && !buckets_.contains(key))
        return std::chrono::seconds(60);
    Bucket &bucket = buckets_.try_emplace(key, Bucket{burst_, now}).first->second;
    bucket = {tries_at(bucket, now), now};
    if (bucket.tries < 1)
        return std::chrono::seconds(static_cast<long>(std::ceil((1 - bucket.tries) / per_second_)));
    bucket.tries -= 1;
    return std::chrono::seconds(0);
}

void RateLimit::give_back(const std::string &key)
{
    const std::lock_guard lock(mutex_);
    if (const auto found = buckets_.find(key); found != buckets_.end())
        found->second.tries = std::min(burst_, found->second.tries + 1);
}

}  // namespace hipq::web
