// The node's side of permits: shares decrease before a request, and increase by its answers.
#include "core/shards/permits.hpp"

#include "core/shards/ids.hpp"

#include <algorithm>

namespace hipq::core {

bool may_start(const PermitShare &share, Weight running, Weight weight)
{
    return share_admits(share.share, share.has_all, running, weight);
}

namespace {

// A node cannot get more than the limit.
Weight wanted(const PermitShare &share, const PermitNeed &need)
{
    return share.limit > 0 ? std::min(need.want, share.limit) : need.want;
}

}  // namespace

bool should_ask(const PermitShare &share, const PermitNeed &need)
{
    if (share.is_waiting || share.must_ask)
        return !share.is_waiting;
    const Weight want = wanted(share, need);
    const bool is_news = want > share.asked_want || need.unit != share.asked_unit;
    const bool wants_more = want > share.share && is_news;
    const bool needs_less = want < share.share && want < share.asked_want;
    const bool gives_up = share.share > std::max(share.target, need.running);
    return wants_more || needs_less || gives_up;
}

bool should_refresh(const PermitShare &share, const PermitNeed &need)
{
    const bool has_too_much = share.share > need.running;
    const bool wants_more = wanted(share, need) > share.share;
    return share.is_waiting || share.must_ask || has_too_much || wants_more;
}

Weight lowered_share(const PermitShare &share, const PermitNeed &need)
{
    return std::min({share.share, share.target, wanted(share, need)});
}

PermitRequest ask(PermitShare &share, int node, const PermitNeed &need)
{
    share.share = std::max(need.running, lowered_share(share, need));
    share.asked_want = wanted(share, need);
    share.asked_unit = need.unit;
    share.is_waiting = true;
    share.must_ask = false;
    share.has_all = false;
    ++share.serial;
    return {node, share.epoch, share.serial, share.share, share.asked_want, share.asked_unit};
}

bool take_answer(PermitShare &share, const PermitAnswer &answer)
{
    if (answer.epoch != share.epoch || answer.serial != share.serial)
        return false;
    share.is_waiting = false;
    share.must_ask = share.must_ask || (share.limit > 0 && answer.limit != share.limit);
    share.share = std::max(share.share, answer.grant);
    share.has_all = share.has_all || answer.is_all;
    share.target = answer.target;
    share.limit = answer.limit;
    return true;
}

bool meet_authority(PermitShare &share, std::int64_t epoch)
{
    if (epoch <= share.epoch)
        return false;
    share.epoch = epoch;
    share.is_waiting = false;
    share.must_ask = true;
    share.target = share.share;
    return true;
}

void forget_share(PermitShare &share, Weight running)
{
    const std::int64_t epoch = share.epoch;
    const std::int64_t serial = share.serial + promotion_gap;
    share = {.epoch = epoch, .serial = serial, .must_ask = true, .share = running};
}

}  // namespace hipq::core
