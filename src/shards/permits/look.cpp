// Looks at shares once, in a transaction of the scheduler.
//
// Limits are processed in the order in which their rows are locked; letters go out at the end, one
// to each node.
#include "shards/permits/look.hpp"

#include "catalog/cache.hpp"
#include "shards/permits/authority.hpp"
#include "shards/permits/permit_letters.hpp"
#include "shards/permits/permit_rows.hpp"
#include "shared/lanes/node_share_table.hpp"

namespace hipq::shards {

namespace {

// The letters of one instance.
struct Outgoing {
    const catalog::Queue *queue = nullptr;
    Requests requests{};
    Answers answers{};

    void send() const
    {
        answers.send(queue->instance);
        if (!requests.empty())
            requests.send(*queue);
    }
};

// From here on nothing starts beyond what the request says.
core::PermitNeed lower(const KnownShare &known)
{
    core::PermitNeed need = known.need;
    need.running = lanes::lower_share(known.limit.name(), core::lowered_share(known.share, need));
    need.want = std::max(need.want, need.running);
    return need;
}

// Returns whether this node has not used a throttle key for a while, and the router knows that.
bool is_unused(const KnownShare &known)
{
    return known.limit.key.is_of_throttle_key() && known.share.share == 0 &&
           !known.share.is_waiting && known.share.asked_want == 0 && known.need.want == 0;
}

// Reads the row. The row of a throttle key is created when a process wants to run a job of it.
void read_share(KnownShare &known)
{
    const LimitKey &key = known.limit.key;
    const bool is_made = key.is_of_throttle_key() ? known.need.want > 0 : known.limit.is_routers();
    const auto share = is_made ? std::optional(lock_or_make_share(key)) : lock_share(key);
    known.is_read = share.has_value();
    known.share = share.value_or(core::PermitShare{});
}

void store_if_changed(KnownShare &known, const core::PermitShare &before)
{
    if (known.is_read && is_unused(known)) {
        delete_share(known.limit.key);
        known.is_read = false;
    } else if (!(known.share == before)) {
        store_share(known.limit.key, known.share);
    }
}

core::PermitRequest request_for(KnownShare &known)
{
    return core::ask(known.share, known.limit.queue->shards->own_node, lower(known));
}

void look_as_shard(KnownShare &known, const Occasion &occasion, Requests &requests)
{
    read_share(known);
    const core::PermitShare before = known.share;
    if (is_due(known, occasion.is_refresh))
        requests.add(known.limit, request_for(known));
    store_if_changed(known, before);
}

bool look_as_authority(const SharedLimit &limit, const Occasion &occasion, KnownShare *own,
                       Answers &answers)
{
    AuthorityTurn turn(limit);
    core::PermitShare before{};
    if (own != nullptr) {
        read_share(*own);
        before = own->share;
    }
    if (occasion.is_turn)
        turn.look_after_all();
    if (occasion.is_refresh)
        turn.call_unheard();
    if (own != nullptr) {
        if (is_due(*own, occasion.is_refresh))
            turn.take(request_for(*own));
        turn.tell_router(own->share);
        store_if_changed(*own, before);
    }
    return turn.end(answers);
}

// Returns throttle keys that the router has to look after although it runs no jobs of them.
std::vector<SharedLimit> keys_of_others(const Shares &shares, bool is_all)
{
    std::vector<SharedLimit> limits;
    if (shares.nodes.empty() || shares.limits.per_key.empty())
        return limits;
    for (const LimitKey &key : keys_of_authorities(!is_all))
        if (const auto limit = shares.limits.find(key);
            limit.has_value() && !shares.known.contains(key))
            limits.push_back(*limit);
    return limits;
}

// Finds throttle keys of which this node had a share before the scheduler started.
void find_keys(Shares &shares)
{
    for (const LimitKey &key : keys_of_shares())
        if (const auto limit = shares.limits.find(key);
            limit.has_value() && !shares.known.contains(key))
            shares.known.emplace(
                key, KnownShare{.limit = *limit, .chosen = lanes::begin_share(limit->name())});
}

// Returns whether nodes have been added or removed where this server is the router.
bool have_nodes_changed(Shares &shares)
{
    std::map<int, std::vector<int>> nodes;
    for (const auto *kind : {&shares.limits.whole, &shares.limits.per_key})
        for (const SharedLimit &limit : *kind)
            if (limit.is_routers() && !nodes.contains(limit.queue->instance_id))
                nodes[limit.queue->instance_id] = nodes_of(limit.queue->instance_id);
    const bool have_changed = nodes != shares.nodes;
    shares.nodes = std::move(nodes);
    return have_changed;
}

}  // namespace

bool is_due(const KnownShare &known, bool is_refresh)
{
    return known.is_counted && known.is_read &&
           (core::should_ask(known.share, known.need) ||
            (is_refresh && core::should_refresh(known.share, known.need)));
}

void look_at_shares(Shares &shares, const Occasion &occasion)
{
    if (shares.is_changed) {
        forget_other_limits(shares.limits);
        find_keys(shares);
    }
    const bool is_all = have_nodes_changed(shares) || shares.is_changed;
    std::map<LimitKey, std::pair<SharedLimit, KnownShare *>> looks;
    for (auto &[key, known] : shares.known)
        looks.emplace(key, std::pair(known.limit, &known));
    if (is_all || occasion.is_turn)
        for (const SharedLimit &limit : keys_of_others(shares, is_all))
            looks.emplace(limit.key, std::pair(limit, nullptr));
    commit_at_once();
    std::map<int, Outgoing> outgoing;
    bool are_keys_awaited = false;
    for (auto &[key, look] : looks) {
        auto &[limit, known] = look;
        Outgoing &letters = outgoing[limit.queue->instance_id];
        letters.queue = limit.queue;
        if (!limit.is_routers()) {
            look_as_shard(*known, occasion, letters.requests);
            continue;
        }
        const bool is_open = look_as_authority(limit, occasion, known, letters.answers);
        if (known != nullptr)
            known->is_open = is_open;
        are_keys_awaited = are_keys_awaited || (is_open && key.is_of_throttle_key());
    }
    if (is_all || occasion.is_turn)
        shares.are_keys_awaited = are_keys_awaited;
    for (const auto &[instance, letters] : outgoing)
        letters.send();
}

}  // namespace hipq::shards
