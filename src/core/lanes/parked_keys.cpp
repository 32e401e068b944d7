// Implements parked keys: their table, and the heap of each lane.
#include "core/lanes/parked_keys.hpp"

#include <utility>

namespace hipq::core {

namespace {

constexpr KeyRange empty_range{lane_end, lane_start};

KeyRange joined(KeyRange left, KeyRange right)
{
    return left.is_empty() ? right : right.is_empty() ? left : hull(left, right);
}

}  // namespace

// ---- the table ----

void ParkedKeys::clear()
{
    *head_ = {no_key, 0, 0};
    std::fill(buckets_.begin(), buckets_.end(), no_key);
}

std::int32_t ParkedKeys::find(std::int32_t number, const LimiterName &name) const
{
    if (entries_.empty())
        return no_key;
    std::int32_t entry = bucket_of(name);
    while (entry != no_key && (at(entry).lane != number || at(entry).name != name))
        entry = at(entry).next;
    return entry;
}

std::size_t ParkedKeys::lanes_of(const LimiterName &name, std::span<std::int32_t> lanes) const
{
    std::size_t count = 0;
    if (entries_.empty())
        return count;
    for (std::int32_t entry = bucket_of(name); entry != no_key; entry = at(entry).next)
        if (at(entry).name == name) {
            if (count < lanes.size())
                lanes[count] = at(entry).lane;
            ++count;
        }
    return count;
}

// The entry is in no heap yet.
std::int32_t ParkedKeys::make(LaneKeys &lane, std::int32_t number, const LimiterName &name)
{
    const std::int32_t entry = head_->free == no_key ? head_->touched++ : head_->free;
    ParkedKey &made = at(entry);
    if (head_->free == entry)
        head_->free = made.next;
    ++head_->used;
    ++lane.count;
    std::int32_t &bucket = bucket_of(name);
    made = {name,       number, false,  empty_range, empty_range,
            lane_limit, bucket, no_key, no_key,      no_key};
    bucket = entry;
    return entry;
}

// The entry is in no heap any more.
void ParkedKeys::erase(LaneKeys &lane, std::int32_t entry)
{
    std::int32_t *link = &bucket_of(at(entry).name);
    while (*link != entry)
        link = &at(*link).next;
    *link = at(entry).next;
    at(entry) = ParkedKey{};
    at(entry).next = head_->free;
    head_->free = entry;
    --head_->used;
    --lane.count;
}

// ---- parking, and becoming ready ----

void ParkedKeys::extend(LaneKeys &lane, std::int32_t entry, KeyRange range, std::int64_t not_before)
{
    ParkedKey &parked = at(entry);
    if (lane.taken == entry) {
        parked.noted = joined(parked.noted, range);
        parked.was_noted = true;
        return;
    }
    if (!parked.range.is_empty())
        remove(lane, entry);
    parked.range = joined(parked.range, range);
    parked.not_before = std::min(parked.not_before, not_before);
    push(lane, entry);
}

bool ParkedKeys::make_ready(LaneKeys &lane, std::int32_t number, const LimiterName &name)
{
    const std::int32_t entry = find(number, name);
    if (entry == no_key)
        return false;
    if (lane.taken == entry) {
        at(entry).was_noted = true;
        return true;
    }
    remove(lane, entry);
    at(entry).not_before = lane_start.time;
    push(lane, entry);
    return true;
}

void ParkedKeys::make_all_ready(LaneKeys &lane)
{
    if (lane.taken != no_key)
        at(lane.taken).was_noted = true;
    std::int32_t rest = std::exchange(lane.first, no_key);
    while (rest != no_key) {
        const std::int32_t entry = take_apart(rest);
        at(entry).not_before = lane_start.time;
        push(lane, entry);
    }
}

void ParkedKeys::forget(LaneKeys &lane)
{
    std::int32_t rest = std::exchange(lane.first, no_key);
    while (rest != no_key)
        erase(lane, take_apart(rest));
    if (lane.taken != no_key)
        erase(lane, std::exchange(lane.taken, no_key));
}

// ---- looking ----

LaneKey ParkedKeys::next_due(const LaneKeys &lane) const
{
    return lane.first == no_key ? lane_end : at(lane.first).due();
}

// The entries below a ready one may be ready; below one that is not, none is.
std::size_t ParkedKeys::count_ready(const LaneKeys &lane, std::int64_t now) const
{
    constexpr std::size_t most = 64;
    if (next_due(lane).time > now)
        return 0;
    std::size_t count = 1;
    for (std::int32_t entry = at(lane.first).child; entry != no_key && count < most;
         entry = at(entry).sibling)
        count += at(entry).due().time <= now ? 1 : 0;
    return count;
}

bool ParkedKeys::covers(std::int32_t number, const LimiterName &name, LaneKey key) const
{
    const std::int32_t entry = find(number, name);
    return entry != no_key && (at(entry).range.contains(key) || at(entry).noted.contains(key));
}

// ---- for the reader ----

std::optional<ParkedKeys::Taken> ParkedKeys::take(LaneKeys &lane, std::int64_t now, LaneKey before)
{
    const std::int32_t entry = lane.first;
    if (next_due(lane).time > now || before < at(entry).range.first)
        return std::nullopt;
    remove(lane, entry);
    lane.taken = entry;
    return Taken{at(entry).name.key, at(entry).range};
}

void ParkedKeys::put_back(LaneKeys &lane, KeyRange rest, std::int64_t not_before)
{
    const std::int32_t entry = std::exchange(lane.taken, no_key);
    ParkedKey &parked = at(entry);
    parked.range = joined(rest, std::exchange(parked.noted, empty_range));
    parked.not_before = std::exchange(parked.was_noted, false) ? lane_start.time : not_before;
    if (parked.range.is_empty())
        erase(lane, entry);
    else
        push(lane, entry);
}

void ParkedKeys::give_back(LaneKeys &lane)
{
    if (lane.taken != no_key)
        put_back(lane, at(lane.taken).range, lane_start.time);
}

// ---- the heap ----

// Joins two heaps; either may be empty. Returns the root.
std::int32_t ParkedKeys::meld(std::int32_t left, std::int32_t right) const
{
    if (left == no_key || right == no_key)
        return left == no_key ? right : left;
    if (at(right).due() < at(left).due())
        std::swap(left, right);
    ParkedKey &root = at(left);
    ParkedKey &below = at(right);
    below.sibling = root.child;
    if (root.child != no_key)
        at(root.child).previous = right;
    below.previous = left;
    root.child = right;
    return left;
}

// Joins the heaps of a list of siblings: two by two, and then the pairs, from the last one on.
std::int32_t ParkedKeys::meld_siblings(std::int32_t first) const
{
    std::int32_t pairs = no_key;
    while (first != no_key) {
        const std::int32_t left = std::exchange(first, std::exchange(at(first).sibling, no_key));
        const std::int32_t right =
            first == no_key ? no_key
                            : std::exchange(first, std::exchange(at(first).sibling, no_key));
        const std::int32_t pair = meld(left, right);
        at(pair).sibling = pairs;
        pairs = pair;
    }
    std::int32_t root = no_key;
    while (pairs != no_key)
        root = meld(root, std::exchange(pairs, std::exchange(at(pairs).sibling, no_key)));
    if (root != no_key)
        at(root).previous = no_key;
    return root;
}

void ParkedKeys::push(LaneKeys &lane, std::int32_t entry) const
{
    ParkedKey &pushed = at(entry);
    pushed.child = pushed.sibling = pushed.previous = no_key;
    lane.first = meld(lane.first, entry);
}

void ParkedKeys::remove(LaneKeys &lane, std::int32_t entry) const
{
    ParkedKey &removed = at(entry);
    const std::int32_t below = meld_siblings(std::exchange(removed.child, no_key));
    if (lane.first == entry) {
        lane.first = below;
        return;
    }
    ParkedKey &previous = at(removed.previous);
    (previous.child == entry ? previous.child : previous.sibling) = removed.sibling;
    if (removed.sibling != no_key)
        at(removed.sibling).previous = removed.previous;
    lane.first = meld(lane.first, below);
}

// Removes any one entry from a list of heaps, without keeping their order.
std::int32_t ParkedKeys::take_apart(std::int32_t &rest) const
{
    const std::int32_t entry = rest;
    std::int32_t last = at(entry).child;
    if (last == no_key) {
        rest = at(entry).sibling;
        return entry;
    }
    rest = last;
    while (at(last).sibling != no_key)
        last = at(last).sibling;
    at(last).sibling = at(entry).sibling;
    return entry;
}

}  // namespace hipq::core
