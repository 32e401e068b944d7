// The authority's side of permits: it tracks the shares that it believes nodes have, and grants the
// rest.
#include "core/shards/permit_targets.hpp"
#include "core/shards/permits.hpp"

#include <algorithm>

namespace hipq::core {

namespace {

using Records = std::vector<PermitRecord>;

Records::iterator find(PermitAuthority &authority, int node)
{
    return std::find_if(authority.records.begin(), authority.records.end(),
                        [&](const PermitRecord &each) { return each.node == node; });
}

// Returns what the limit leaves for a node beside the others. Nothing while one of the others is
// not heard or has the whole limit: it may run a job heavier than the limit, whose weight only that
// node knows.
Weight left_beside_others(const PermitAuthority &authority, const PermitRecord &record)
{
    Weight left = authority.limit;
    for (const PermitRecord &other : authority.records)
        if (&other != &record)
            left -= other.is_heard && !other.has_all ? other.share : authority.limit;
    return std::max<Weight>(left, 0);
}

std::vector<Weight> targets(const PermitAuthority &authority)
{
    std::vector<PermitClaim> claims;
    for (const PermitRecord &each : authority.records)
        claims.push_back({each.want, each.unit, each.share});
    return permit_targets(authority.limit, claims, authority.turn);
}

// Grants as much as possible. Returns the answer to the node, if one is required or has news.
std::optional<PermitAnswer> grant(const PermitAuthority &authority, PermitRecord &record,
                                  Weight target, bool must_be)
{
    const Weight granted = std::min(target, left_beside_others(authority, record));
    const bool is_all = granted > 0 && granted == authority.limit && record.is_heard;
    const bool is_news =
        granted > record.share || target != record.told_target || (is_all && !record.has_all);
    const bool has_asked = record.serial > 0;
    if (!has_asked || !(must_be || is_news))
        return std::nullopt;
    record.share = std::max(record.share, granted);
    record.has_all = record.has_all || is_all;
    record.told_target = target;
    return PermitAnswer{.node = record.node,
                        .epoch = authority.epoch,
                        .serial = record.serial,
                        .grant = granted,
                        .target = target,
                        .limit = authority.limit,
                        .is_all = is_all};
}

// Returns the answers to all nodes that must receive one. The requesting node is served first.
std::vector<PermitAnswer> grant_all(PermitAuthority &authority, const PermitRecord *asking,
                                    bool tell_all = false)
{
    std::vector<PermitAnswer> answers;
    const std::vector<Weight> target = targets(authority);
    for (const bool asks : {true, false})
        for (std::size_t i = 0; i < authority.records.size(); ++i) {
            PermitRecord &record = authority.records[i];
            if ((&record == asking) != asks)
                continue;
            if (const auto answer = grant(authority, record, target[i], asks || tell_all))
                answers.push_back(*answer);
        }
    return answers;
}

}  // namespace

PermitAuthority new_authority(std::int64_t epoch, Weight limit, const std::vector<int> &nodes)
{
    PermitAuthority authority{epoch, limit, 0, {}};
    for (const int node : nodes)
        authority.records.push_back({.node = node});
    return authority;
}

std::vector<PermitAnswer> take_request(PermitAuthority &authority, const PermitRequest &request)
{
    const auto record = find(authority, request.node);
    if (record == authority.records.end() || request.epoch != authority.epoch ||
        request.serial <= record->serial)
        return {};
    record->is_heard = true;
    record->has_all = false;
    record->serial = request.serial;
    record->share = request.keep;
    record->want = request.want;
    record->unit = request.unit;
    return grant_all(authority, &*record);
}

std::vector<PermitAnswer> pass_turn(PermitAuthority &authority)
{
    const std::size_t count = authority.records.size();
    for (std::size_t n = 1; n <= count; ++n) {
        const std::size_t next = (authority.turn + n) % count;
        if (authority.records[next].unit == 0)
            continue;
        authority.turn = next;
        return grant_all(authority, nullptr);
    }
    return {};
}

std::vector<PermitAnswer> set_limit(PermitAuthority &authority, Weight limit)
{
    authority.limit = limit;
    return grant_all(authority, nullptr, true);
}

std::vector<PermitAnswer> pass_over(PermitAuthority &authority, int node)
{
    const auto record = find(authority, node);
    if (record == authority.records.end())
        return {};
    record->want = std::min(record->want, record->share);
    record->unit = 0;
    return grant_all(authority, nullptr);
}

void add_node(PermitAuthority &authority, int node)
{
    if (find(authority, node) == authority.records.end())
        authority.records.push_back({.node = node, .is_heard = true});
}

std::vector<PermitAnswer> drop_node(PermitAuthority &authority, int node)
{
    const auto record = find(authority, node);
    if (record == authority.records.end())
        return {};
    authority.records.erase(record);
    if (authority.turn >= authority.records.size())
        authority.turn = 0;
    return grant_all(authority, nullptr);
}

}  // namespace hipq::core
