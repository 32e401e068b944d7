// The steps of the model of permits.
#include "permit_model.hpp"

#include <algorithm>

namespace hipq::test {

namespace {

using namespace hipq::core;

constexpr bool has(std::uint8_t bits, std::size_t job)
{
    return ((bits >> job) & 1U) != 0;
}
constexpr void flip(std::uint8_t &bits, std::size_t job)
{
    bits = static_cast<std::uint8_t>(bits ^ (1U << job));
}

std::uint8_t byte(std::int64_t value)
{
    return static_cast<std::uint8_t>(value);
}
Thousandths thousandths(Weight weight)
{
    return static_cast<Thousandths>(weight);
}

// ---- from bytes, and back

PermitShare unpacked(const ShareBytes &bytes)
{
    PermitShare share;
    share.epoch = bytes.epoch;
    share.serial = bytes.serial;
    share.is_waiting = bytes.is_waiting != 0;
    share.must_ask = bytes.must_ask != 0;
    share.share = bytes.share;
    share.has_all = bytes.has_all != 0;
    share.target = bytes.target;
    share.limit = bytes.limit;
    share.asked_want = bytes.asked_want;
    share.asked_unit = bytes.asked_unit;
    return share;
}
// A serial number beyond all others gets the next rank.
ShareBytes packed(const PermitShare &share)
{
    return {byte(std::min<std::int64_t>(share.serial, 255)),
            byte(share.epoch),
            byte(share.is_waiting),
            byte(share.must_ask),
            thousandths(share.share),
            thousandths(share.has_all),
            thousandths(share.target),
            thousandths(share.limit),
            thousandths(share.asked_want),
            thousandths(share.asked_unit)};
}

// Messages are sorted, so that states that differ only in their order are equal.
template <typename Message>
auto rank(const Message &message)
{
    std::array<unsigned char, sizeof(Message)> bytes;
    std::copy_n(reinterpret_cast<const unsigned char *>(&message), sizeof(Message), bytes.begin());
    return bytes;
}
template <typename Messages>
void sort(Messages &messages)
{
    std::sort(messages.begin(), messages.end(),
              [](const auto &a, const auto &b) { return rank(a) > rank(b); });
}

// Serial numbers are only compared, and only with those of the same node.
void make_ranks(PermitNodeState &node)
{
    std::array<std::uint8_t *, 3 + 2 * most_late_messages> serials{
        &node.share.serial, &node.standby.serial, &node.record.serial};
    auto next = serials.begin() + 3;
    for (RequestBytes &each : node.requests)
        *next++ = &each.serial;
    for (AnswerBytes &each : node.answers)
        *next++ = &each.serial;
    std::array<std::uint8_t, serials.size() + 1> values{};
    std::transform(serials.begin(), serials.end(), values.begin() + 1,
                   [](const std::uint8_t *each) { return *each; });
    std::sort(values.begin(), values.end());
    const auto end = std::unique(values.begin(), values.end());
    for (std::uint8_t *each : serials)
        *each = byte(std::lower_bound(values.begin(), end, *each) - values.begin());
}

bool settled(PermitState &state)
{
    for (PermitNodeState &node : state.nodes) {
        make_ranks(node);
        sort(node.requests);
        sort(node.answers);
    }
    return true;
}

// Replaces a message, as if it were lost, if there is no free entry.
template <typename Messages, typename Message>
void post(Messages &messages, std::size_t most, const Message &message)
{
    for (std::size_t i = 0; i < most; ++i)
        if (messages[i].serial == 0) {
            messages[i] = message;
            return;
        }
    messages[most - 1] = message;
}

}  // namespace

PermitState PermitModel::start() const
{
    PermitState state{};
    state.epoch = 1;
    for (std::size_t n = 0; n < permit_nodes; ++n) {
        PermitNodeState &node = state.nodes[n];
        for (std::size_t job = 0; job < jobs_of_node; ++job)
            if (setting_.jobs[n][job] != 0)
                flip(node.waiting, job);
        node.record.is_heard = 1;
        node.share.epoch = 1;
    }
    return state;
}

Weight PermitModel::limit(const State &state) const
{
    return (state.has_later_limit != 0 ? setting_.later_limit : setting_.limit) * weight_unit;
}

Weight PermitModel::running(const State &state, std::size_t n) const
{
    Weight sum = 0;
    for (std::size_t job = 0; job < jobs_of_node; ++job)
        if (has(state.nodes[n].running, job))
            sum += setting_.jobs[n][job] * weight_unit;
    return sum;
}

PermitNeed PermitModel::need(const State &state, std::size_t n) const
{
    PermitNeed result{running(state, n), running(state, n), 0};
    for (std::size_t job = jobs_of_node; job-- > 0;)
        if (has(state.nodes[n].waiting, job)) {
            result.unit = setting_.jobs[n][job] * weight_unit;
            result.want += result.unit;
        }
    return result;
}

PermitAuthority PermitModel::authority(const State &state) const
{
    PermitAuthority result{state.epoch, limit(state), state.turn, {}};
    for (std::size_t n = 0; n < permit_nodes; ++n) {
        const RecordBytes &bytes = state.nodes[n].record;
        PermitRecord record{};
        record.node = static_cast<int>(n);
        record.is_heard = bytes.is_heard != 0;
        record.serial = bytes.serial;
        record.share = bytes.share;
        record.has_all = bytes.has_all != 0;
        record.want = bytes.want;
        record.unit = bytes.unit;
        record.told_target = bytes.told_target;
        result.records.push_back(record);
    }
    return result;
}

void PermitModel::put_back(State &state, const PermitAuthority &authority,
                           const std::vector<PermitAnswer> &answers) const
{
    state.epoch = byte(authority.epoch);
    state.turn = byte(static_cast<std::int64_t>(authority.turn));
    for (std::size_t n = 0; n < permit_nodes; ++n) {
        const PermitRecord &record = authority.records[n];
        state.nodes[n].record = {byte(record.serial),
                                 byte(record.is_heard),
                                 thousandths(record.share),
                                 thousandths(record.has_all),
                                 thousandths(record.want),
                                 thousandths(record.unit),
                                 thousandths(record.told_target)};
    }
    for (const PermitAnswer &each : answers)
        post(state.nodes[static_cast<std::size_t>(each.node)].answers, setting_.late_answers,
             AnswerBytes{byte(each.serial), byte(each.epoch), thousandths(each.grant),
                         thousandths(each.target), thousandths(each.limit),
                         thousandths(each.is_all)});
}

// ---- a node

bool PermitModel::start_job(State &state, std::size_t n, std::size_t job) const
{
    PermitNodeState &node = state.nodes[n];
    const Weight weight = setting_.jobs[n][job] * weight_unit;
    if (!has(node.waiting, job) ||
        !rules_.may_start(unpacked(node.share), running(state, n), weight))
        return false;
    flip(node.waiting, job);
    flip(node.running, job);
    return settled(state);
}

bool PermitModel::finish_job(State &state, std::size_t n, std::size_t job) const
{
    if (!has(state.nodes[n].running, job))
        return false;
    flip(state.nodes[n].running, job);
    return settled(state);
}

bool PermitModel::crash(State &state, std::size_t n) const
{
    PermitNodeState &node = state.nodes[n];
    if (node.running == 0)
        return false;
    node.waiting = byte(node.waiting | node.running);
    node.running = 0;
    return settled(state);
}

bool PermitModel::ask(State &state, std::size_t n) const
{
    PermitNodeState &node = state.nodes[n];
    PermitShare share = unpacked(node.share);
    const PermitNeed now = need(state, n);
    if (!should_ask(share, now) && !should_refresh(share, now))
        return false;
    const PermitRequest request = rules_.ask(share, static_cast<int>(n), now);
    node.share = packed(share);
    post(node.requests, setting_.late_requests.at(n),
         RequestBytes{byte(request.serial), byte(request.epoch), thousandths(request.keep),
                      thousandths(request.want), thousandths(request.unit)});
    return settled(state);
}

bool PermitModel::meet(State &state, std::size_t n) const
{
    PermitShare share = unpacked(state.nodes[n].share);
    if (!meet_authority(share, state.epoch))
        return false;
    state.nodes[n].share = packed(share);
    return settled(state);
}

bool PermitModel::stop_following(State &state) const
{
    if (!setting_.is_promoted || state.standby_step != 0)
        return false;
    state.standby_step = 1;
    state.nodes[0].standby = state.nodes[0].share;
    return settled(state);
}

bool PermitModel::promote(State &state) const
{
    if (state.standby_step != 1)
        return false;
    state.standby_step = 2;
    PermitNodeState &node = state.nodes[0];
    node.waiting = byte(node.waiting | node.running);
    node.running = 0;
    PermitShare share = unpacked(node.standby);
    rules_.forget_share(share, 0);
    node.share = packed(share);
    node.standby = {};
    return settled(state);
}

// ---- messages

bool PermitModel::take_request(State &state, std::size_t n, std::size_t which,
                               bool comes_again) const
{
    const RequestBytes bytes = state.nodes[n].requests.at(which);
    if (bytes.serial == 0)
        return false;
    if (!comes_again)
        state.nodes[n].requests.at(which) = {};
    PermitAuthority now = authority(state);
    const std::vector<PermitAnswer> answers = rules_.take_request(
        now, {static_cast<int>(n), bytes.epoch, bytes.serial, bytes.keep, bytes.want, bytes.unit});
    put_back(state, now, answers);
    return settled(state);
}

bool PermitModel::take_answer(State &state, std::size_t n, std::size_t which,
                              bool comes_again) const
{
    const AnswerBytes bytes = state.nodes[n].answers.at(which);
    if (bytes.serial == 0)
        return false;
    if (!comes_again)
        state.nodes[n].answers.at(which) = {};
    PermitShare share = unpacked(state.nodes[n].share);
    rules_.take_answer(share, {static_cast<int>(n), bytes.epoch, bytes.serial, bytes.grant,
                               bytes.target, bytes.limit, bytes.is_all != 0});
    state.nodes[n].share = packed(share);
    return settled(state);
}

bool PermitModel::lose_request(State &state, std::size_t n, std::size_t which) const
{
    if (state.nodes[n].requests.at(which).serial == 0)
        return false;
    state.nodes[n].requests.at(which) = {};
    return settled(state);
}

bool PermitModel::lose_answer(State &state, std::size_t n, std::size_t which) const
{
    if (state.nodes[n].answers.at(which).serial == 0)
        return false;
    state.nodes[n].answers.at(which) = {};
    return settled(state);
}

// ---- the authority

bool PermitModel::pass_turn(State &state) const
{
    PermitAuthority now = authority(state);
    const std::vector<PermitAnswer> answers = core::pass_turn(now);
    if (now.turn == state.turn)
        return false;
    put_back(state, now, answers);
    return settled(state);
}

bool PermitModel::replace_authority(State &state) const
{
    if (state.epoch >= setting_.authorities)
        return false;
    put_back(state, rules_.new_authority(state.epoch + 1, limit(state), {0, 1}), {});
    return settled(state);
}

bool PermitModel::change_limit(State &state) const
{
    if (setting_.later_limit == 0 || state.has_later_limit != 0)
        return false;
    PermitAuthority now = authority(state);
    const std::vector<PermitAnswer> answers = set_limit(now, setting_.later_limit * weight_unit);
    state.has_later_limit = 1;
    put_back(state, now, answers);
    return settled(state);
}

// ---- checks

const char *PermitModel::fault(const State &state) const
{
    const Weight sum = running(state, 0) + running(state, 1);
    const Weight highest =
        std::max(setting_.limit * weight_unit, setting_.later_limit * weight_unit);
    const Weight allowed = state.has_later_limit != 0 ? highest : setting_.limit * weight_unit;
    unsigned count = 0;
    for (const PermitNodeState &node : state.nodes)
        for (std::size_t job = 0; job < jobs_of_node; ++job)
            count += has(node.running, job) ? 1 : 0;
    return sum > allowed && count > 1 ? "more runs than the limit allows" : nullptr;
}

bool PermitModel::is_end(const State &state) const
{
    return std::all_of(state.nodes.begin(), state.nodes.end(), [](const PermitNodeState &node) {
        return node.waiting == 0 && node.running == 0;
    });
}

}  // namespace hipq::test
