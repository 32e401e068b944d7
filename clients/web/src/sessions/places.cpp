// A limited number of places, of which no holder gets more than a share.
#include "sessions/places.hpp"

namespace hipq::web {

bool Places::is_full()
{
    const std::lock_guard lock(mutex_);
    return taken_ >= most_;
}

bool Places::count(const Holders &holders)
{
    const std::lock_guard lock(mutex_);
    if (taken_ >= most_)
        return false;
    for (const std::string &holder : holders)
        if (const auto found = taken_by_.find(holder);
            !holder.empty() && found != taken_by_.end() && found->second >= share_)
            return false;
    ++taken_;
    for (const std::string &holder : holders)
        ++taken_by_[holder];
    return true;
}

Places::Place Places::take(const Holders &holders)
{
    if (!count(holders))
        return nullptr;
    return {this, [this, holders](void *) { give_back(holders); }};
}

void Places::give_back(const Holders &holders)
{
    const std::lock_guard lock(mutex_);
    --taken_;
    for (const std::string &holder : holders)
        if (const auto found = taken_by_.find(holder); --found->second == 0)
            taken_by_.erase(found);
}

}  // namespace hipq::web
