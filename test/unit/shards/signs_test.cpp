// Heartbeats between nodes: what they show, and a model of two nodes, one of which is put back to a
// snapshot of its disk, in all orders of events.
#include "core/shards/signs.hpp"
#include "exploration.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

using namespace hipq::core;
using hipq::test::explore;
using hipq::test::Findings;
using hipq::test::told;

namespace {

constexpr SignsKnown known{.heard = 7, .from = 3, .remembers_heard = true};

TEST(Signs, tell_nothing_to_who_remembers)
{
    EXPECT_EQ(forgotten(known, {{}, {}}), Forgotten::nothing) << "the first one";
    EXPECT_EQ(forgotten(known, {Sign{7, 1}, Sign{5, 1}}), Forgotten::nothing);
    EXPECT_EQ(forgotten(known, {Sign{6, 1}, Sign{5, 1}}), Forgotten::nothing) << "an old one";
}

TEST(Signs, tell_who_lacks_the_one_before)
{
    EXPECT_EQ(forgotten(known, {Sign{8, 1}, Sign{5, 1}}), Forgotten::what_it_got);
}

TEST(Signs, do_not_blame_who_hears_of_a_node_for_the_first_time)
{
    const SignsKnown nothing{.heard = 0, .from = 0, .remembers_heard = false};
    EXPECT_EQ(forgotten(nothing, {Sign{8, 1}, {}}), Forgotten::nothing);
    EXPECT_EQ(forgotten(nothing, {Sign{8, 1}, Sign{5, 1}}), Forgotten::what_it_sent);
}

TEST(Signs, tell_who_does_not_know_its_own)
{
    const SignsKnown unknown{.heard = 7, .from = 3, .remembers_heard = false};
    EXPECT_EQ(forgotten(unknown, {Sign{7, 1}, Sign{5, 1}}), Forgotten::what_it_sent);
    EXPECT_EQ(forgotten(unknown, {Sign{7, 1}, Sign{2, 1}}), Forgotten::nothing)
        << "from before it was in step";
}

// ---- the model ----

using Byte = std::uint8_t;
constexpr std::size_t most_signs = 6;
constexpr Byte gap = 16;  // numbers that are skipped when a node comes into step

// A name in a byte: the number, and whether it was given after the snapshot had come back. 0: none.
Byte name(Byte id, Byte is_later)
{
    return static_cast<Byte>(2 * id + is_later);
}

std::optional<Sign> sign(Byte name)
{
    return name == 0 ? std::nullopt : std::optional(Sign{name / 2, name % 2});
}

struct Message {
    Byte own, before, heard;
};

struct Stream {
    Byte count;
    std::array<Message, most_signs> messages;
};

struct Node {
    Byte next;  // number
    Byte from;
    Byte heard;
    Byte count;
    std::array<Byte, most_signs> sent;
    Byte has_forgotten;
    Byte left;  // number of heartbeats that it may still send
};

struct SignsState {
    Node one, two;
    Node snapshot;  // of one
    Stream to_one, to_two;
    Byte has_snapshot, is_back, is_mended;
    Byte is_heard_of;  // two has sent a heartbeat to the restored one, and it was delivered
    Byte has_lost;     // heartbeats of one that two had, or of two that one had
};

using Rule = Forgotten (*)(const SignsKnown &, const SignLetter &);

class SignsModel {
public:
    using State = SignsState;
    explicit SignsModel(Rule rule = forgotten) : rule_(rule) {}

    State start() const
    {
        State state{};
        state.one.next = state.two.next = 1;
        state.one.left = state.two.left = 4;
        return state;
    }

    const char *fault(const State &state) const
    {
        const bool may_be_found = state.is_back != 0 && state.is_mended == 0;
        if (state.two.has_forgotten != 0 || (state.one.has_forgotten != 0 && !may_be_found))
            return "a node that has forgotten nothing stops";
        if (may_be_found && state.has_lost != 0 && state.is_heard_of != 0 &&
            state.one.has_forgotten == 0)
            return "a node that has forgotten goes on";
        return nullptr;
    }

    bool is_end(const State &state) const
    {
        return state.is_back != 0 && (state.has_lost == 0 || state.is_mended != 0);
    }

    template <typename Emit>
    void each_next(const State &state, Emit &&emit) const
    {
        const auto attempt = [&](const char *what, bool (SignsModel::*step)(State &) const) {
            State next = state;
            if ((this->*step)(next))
                emit(next, what);
        };
        attempt("1 sends a sign", &SignsModel::one_signs);
        attempt("2 sends a sign", &SignsModel::two_signs);
        attempt("1 gets a sign", &SignsModel::one_hears);
        attempt("2 gets a sign", &SignsModel::two_hears);
        attempt("1 forgets an old sign", &SignsModel::prune);
        attempt("a snapshot of 1", &SignsModel::take_snapshot);
        attempt("1 comes back from the snapshot", &SignsModel::come_back);
        attempt("1 is brought into step", &SignsModel::mend);
    }

private:
    bool sends(State &state, Node &node, Stream &stream, bool is_read) const
    {
        if (node.left == 0 || node.count == most_signs || stream.count == most_signs ||
            node.has_forgotten != 0)
            return false;
        --node.left;
        const Byte own = name(node.next++, state.is_back);
        const Byte before = node.count == 0 ? Byte{0} : node.sent.at(node.count - 1U);
        node.sent.at(node.count++) = own;
        if (is_read)
            stream.messages.at(stream.count++) = {own, before, node.heard};
        return true;
    }

    // The other node skips what one sends after it has come back, because it has read further.
    bool one_signs(State &state) const
    {
        return sends(state, state.one, state.to_two, state.is_back == 0 || state.is_mended != 0);
    }

    bool two_signs(State &state) const { return sends(state, state.two, state.to_one, true); }

    bool hears(Node &node, Stream &stream) const
    {
        if (stream.count == 0 || node.has_forgotten != 0)
            return false;
        const Message message = stream.messages.front();
        std::rotate(stream.messages.begin(), stream.messages.begin() + 1, stream.messages.end());
        stream.messages.at(--stream.count) = {};
        const auto sent_end = node.sent.begin() + node.count;
        const auto place = std::find(node.sent.begin(), sent_end, message.heard);
        const SignsKnown facts{node.heard / 2, node.from, place != sent_end};
        node.has_forgotten =
            rule_(facts, {sign(message.before), sign(message.heard)}) != Forgotten::nothing;
        node.heard = std::max(node.heard, message.own);
        if (place != sent_end && node.has_forgotten == 0) {  // earlier ones show nothing new
            const auto gone = static_cast<Byte>(place - node.sent.begin());
            std::rotate(node.sent.begin(), place, node.sent.end());
            node.count = static_cast<Byte>(node.count - gone);
            std::fill(node.sent.begin() + node.count, node.sent.end(), Byte{0});
            node.from = std::max(node.from, static_cast<Byte>(message.heard / 2));
        }
        return true;
    }

    // A heartbeat that two sent before one came back may have been on its way; only one that was
    // sent after that counts.
    bool one_hears(State &state) const
    {
        const bool is_later = state.to_one.count > 0 && state.to_one.messages.front().own % 2 == 1;
        if (!hears(state.one, state.to_one))
            return false;
        state.is_heard_of = static_cast<Byte>(state.is_heard_of | Byte{is_later});
        return true;
    }

    bool two_hears(State &state) const { return hears(state.two, state.to_two); }

    // The other node may be down for longer than heartbeats are kept; it may name these when it
    // reads again. A node that was put back learns of it sooner.
    bool prune(State &state) const
    {
        Node &one = state.one;
        if (one.count < 2 || one.has_forgotten != 0 || one.sent.front() % 2 == 1)
            return false;
        one.from = std::max(one.from, static_cast<Byte>(one.sent.front() / 2 + 1));
        std::rotate(one.sent.begin(), one.sent.begin() + 1, one.sent.end());
        one.sent.at(--one.count) = 0;
        return true;
    }

    bool take_snapshot(State &state) const
    {
        if (state.has_snapshot != 0)
            return false;
        state.has_snapshot = 1;
        state.snapshot = state.one;
        return true;
    }

    bool come_back(State &state) const
    {
        if (state.has_snapshot == 0 || state.is_back != 0)
            return false;
        state.is_back = 1;
        const auto sent_end = state.snapshot.sent.begin() + state.snapshot.count;
        const bool knows_its_own =
            state.two.heard == 0 || state.two.heard / 2 < state.snapshot.from ||
            std::find(state.snapshot.sent.begin(), sent_end, state.two.heard) != sent_end;
        state.has_lost =
            static_cast<Byte>(!knows_its_own || (state.snapshot.heard != 0 &&
                                                 state.one.heard > state.snapshot.heard));
        state.one = state.snapshot;
        state.one.left = state.two.left = 2;
        state.snapshot = {};
        state.to_two = {};  // its log does not have these
        return true;
    }

    // resync_shard(): each node forgets what it has sent; the node that had forgotten gets what it
    // lacks again.
    bool mend(State &state) const
    {
        if (state.one.has_forgotten == 0 || state.is_mended != 0)
            return false;
        state.is_mended = 1;
        Node &one = state.one;
        if (state.two.count > 0)
            one.heard = std::max(one.heard, state.two.sent.at(state.two.count - 1U));
        one.next = static_cast<Byte>(one.next + gap);
        for (Node *node : {&one, &state.two}) {
            node->from = static_cast<Byte>(signs_from(node->next - 1));
            node->count = 0;
            node->sent = {};
            node->left = 2;
        }
        one.has_forgotten = 0;
        state.to_one = state.to_two = {};
        return true;
    }

    Rule rule_;
};

TEST(SignsModel, finds_who_has_forgotten_and_nobody_else)
{
    const Findings findings = explore(SignsModel());
    EXPECT_EQ(findings.fault, "") << told(findings);
    EXPECT_GT(findings.ends, 0U);
    std::cout << findings.states << " states, " << findings.steps << " steps\n";
}

TEST(BrokenSigns, miss_who_has_forgotten_what_it_got)
{
    const Findings findings =
        explore(SignsModel([](const SignsKnown &facts, const SignLetter &letter) {
            return forgotten(facts, {{}, letter.heard});
        }));
    EXPECT_EQ(findings.fault, "a node that has forgotten goes on") << told(findings);
}

TEST(BrokenSigns, miss_who_has_forgotten_what_it_sent)
{
    const Findings findings =
        explore(SignsModel([](const SignsKnown &facts, const SignLetter &letter) {
            return forgotten(facts, {letter.before, {}});
        }));
    EXPECT_EQ(findings.fault, "a node that has forgotten goes on") << told(findings);
}

TEST(BrokenSigns, stop_who_has_come_into_step_if_older_signs_count)
{
    const Findings findings =
        explore(SignsModel([](const SignsKnown &facts, const SignLetter &letter) {
            return forgotten({facts.heard, 0, facts.remembers_heard}, letter);
        }));
    EXPECT_EQ(findings.fault, "a node that has forgotten nothing stops") << told(findings);
}

}  // namespace
