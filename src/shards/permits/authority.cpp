// Answers requests for shares, and follows changes of the set-up.
#include "shards/permits/authority.hpp"

#include "catalog/cache.hpp"
#include "shards/permits/permit_rows.hpp"
#include "shared/wakeup/commit.hpp"

namespace hipq::shards {

namespace {

using core::PermitAnswer;
using core::PermitRecord;

bool is_known(const std::vector<PermitRecord> &records, int node)
{
    return std::ranges::find(records, node, &PermitRecord::node) != records.end();
}

bool is_open(const PermitRecord &record)
{
    return !record.is_heard || record.unit > 0 || record.want > record.share;
}

bool is_empty(const PermitRecord &record)
{
    return record.is_heard && record.share == 0 && !record.has_all && record.want == 0 &&
           record.unit == 0;
}

}  // namespace

AuthorityTurn::AuthorityTurn(const SharedLimit &limit) : limit_(limit)
{
    StoredAuthority stored = lock_or_make();
    before_ = stored.authority;
    authority_ = std::move(stored.authority);
    silent_ = std::move(stored.silent);
    if (!stored.is_of_this_life && !limit.key.is_of_throttle_key())
        begin_anew(authority_.epoch);
    follow_nodes();
    if (authority_.limit != limit.limit)
        add(core::set_limit(authority_, limit.limit));
}

StoredAuthority AuthorityTurn::lock_or_make()
{
    if (auto stored = lock_authority(limit_.key))
        return *stored;
    make_authority(limit_.key,
                   limit_.key.is_of_throttle_key() ? epoch_of_throttle_keys : next_epoch(),
                   limit_.limit);
    return lock_authority(limit_.key).value();
}

void AuthorityTurn::add(const std::vector<PermitAnswer> &answers)
{
    answers_.insert(answers_.end(), answers.begin(), answers.end());
}

void AuthorityTurn::begin_anew(std::int64_t known_epoch)
{
    authority_ = core::new_authority(next_epoch(known_epoch), limit_.limit, {});
    restart_authority(limit_.key, authority_.epoch);
    before_ = authority_;
    silent_.clear();
}

// A node that is new to the limit may have run its jobs before, so it has to be heard. A node that
// is new to a throttle key need not be, because most nodes never hear of the key.
void AuthorityTurn::follow_nodes()
{
    const std::vector<int> nodes = nodes_of(limit_.queue->instance_id);
    for (const PermitRecord &record : before_.records)
        if (!std::ranges::binary_search(nodes, record.node))
            add(core::drop_node(authority_, record.node));
    if (limit_.key.is_of_throttle_key())
        return;
    for (const int node : nodes) {
        if (is_known(authority_.records, node))
            continue;
        const auto place =
            std::ranges::upper_bound(authority_.records, node, {}, &PermitRecord::node);
        authority_.records.insert(place, {.node = node});
        answers_.push_back(call_to_ask(node, authority_));
    }
}

void AuthorityTurn::take(const core::PermitRequest &request)
{
    if (request.epoch > authority_.epoch) {  // nodes know of a newer epoch than these records
        begin_anew(request.epoch);
        follow_nodes();
        return;
    }
    if (request.epoch < authority_.epoch) {
        answers_.push_back(call_to_ask(request.node, authority_));
        return;
    }
    if (limit_.key.is_of_throttle_key())
        core::add_node(authority_, request.node);
    add(core::take_request(authority_, request));
}

void AuthorityTurn::look_after_all()
{
    for (const int node : silent_)
        add(core::pass_over(authority_, node));
    add(core::pass_turn(authority_));
}

void AuthorityTurn::call_unheard()
{
    for (const PermitRecord &record : authority_.records)
        if (!record.is_heard)
            answers_.push_back(call_to_ask(record.node, authority_));
}

bool AuthorityTurn::has_news_for_router() const
{
    return std::ranges::find(answers_, core::router_node, &PermitAnswer::node) != answers_.end();
}

void AuthorityTurn::tell_router(core::PermitShare &share) const
{
    for (const PermitAnswer &answer : answers_)
        if (answer.node == core::router_node)
            (void)hear(share, answer);
}

bool AuthorityTurn::is_unused() const
{
    return limit_.key.is_of_throttle_key() && std::ranges::all_of(authority_.records, is_empty);
}

bool AuthorityTurn::end(Answers &answers)
{
    for (const PermitAnswer &answer : answers_)
        if (answer.node != core::router_node)
            answers.add(limit_.queue->name, limit_.key, answer);
    if (is_unused())
        delete_authority(limit_.key);
    else
        store_authority(limit_.key, before_, authority_);
    return std::ranges::any_of(authority_.records, is_open);
}

namespace {

void take_one(const SharedLimit &limit, const core::PermitRequest &request, Answers &letters)
{
    AuthorityTurn turn(limit);
    turn.take(request);
    if (turn.has_news_for_router()) {
        core::PermitShare share = lock_or_make_share(limit.key);
        turn.tell_router(share);
        store_share(limit.key, share);
    }
    turn.end(letters);
}

}  // namespace

void take_requests(const std::string &instance, int sender, pg::RawValue body)
{
    commit_at_once();
    const auto catalogue = catalog::catalogue();
    const SharedLimits limits = shared_limits(*catalogue);
    Answers letters;
    for (const auto &[key, request] : read_requests(instance, sender, body))
        if (const auto limit =
                limits.find(key))  // otherwise the sender will hear that there is none
            take_one(*limit, request, letters);
    letters.send(instance);
    wakeup::note_shares();
}

}  // namespace hipq::shards
