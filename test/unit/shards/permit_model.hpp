// A model of two nodes that run jobs under one limit, and of the authority that grants them shares
// of it. All decisions are those of core/shards; messages are lost, duplicated, late and out of
// order.
//
// A crash of a node ends its running jobs; its share is durable. Its standby may stop following and
// be promoted later, with an old share. The authority may be replaced by one without any state.
#pragma once

#include "core/shards/permits.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace hipq::test {

using core::PermitAnswer;
using core::PermitAuthority;
using core::PermitRequest;
using core::PermitShare;
using core::Weight;

inline constexpr std::size_t permit_nodes = 2;
inline constexpr std::size_t jobs_of_node = 2;
inline constexpr std::size_t most_late_messages = 2;

// The rules of core/shards that the model uses; a test can break them.
struct PermitRules {
    bool (*may_start)(const PermitShare &, Weight, Weight) = core::may_start;
    PermitRequest (*ask)(PermitShare &, int, const core::PermitNeed &) = core::ask;
    bool (*take_answer)(PermitShare &, const PermitAnswer &) = core::take_answer;
    void (*forget_share)(PermitShare &, Weight) = core::forget_share;
    PermitAuthority (*new_authority)(std::int64_t, Weight,
                                     const std::vector<int> &) = core::new_authority;
    std::vector<PermitAnswer> (*take_request)(PermitAuthority &,
                                              const PermitRequest &) = core::take_request;
};

struct PermitSetting {
    Weight limit = 3;  // in units of 1
    std::array<std::array<Weight, jobs_of_node>, permit_nodes> jobs{{{1, 0}, {3, 0}}};  // 0: none
    std::array<std::size_t, permit_nodes> late_requests{1, 1};  // messages under way at most
    std::size_t late_answers = 1;
    int authorities = 1;       // one after the other
    bool is_promoted = false;  // the standby of the first node
    Weight later_limit = 0;    // set at some time; 0: never
};

// In the model's bytes all weights are in thousandths, and serial numbers are ranks.
using Thousandths = std::uint16_t;

struct RequestBytes {
    std::uint8_t serial, epoch;  // serial 0: none
    Thousandths keep, want, unit;
};
struct AnswerBytes {
    std::uint8_t serial, epoch;
    Thousandths grant, target, limit, is_all;
};
struct ShareBytes {
    std::uint8_t serial, epoch, is_waiting, must_ask;
    Thousandths share, has_all, target, limit, asked_want, asked_unit;
};
struct RecordBytes {
    std::uint8_t serial, is_heard;
    Thousandths share, has_all, want, unit, told_target;
};
struct PermitNodeState {
    ShareBytes share;
    ShareBytes standby;
    RecordBytes record;  // the authority's record of the node
    std::array<RequestBytes, most_late_messages> requests;
    std::array<AnswerBytes, most_late_messages> answers;
    std::uint8_t waiting, running;  // bits for jobs
};
struct PermitState {
    std::array<PermitNodeState, permit_nodes> nodes;
    std::uint8_t epoch, turn;
    std::uint8_t standby_step;  // 1: it has stopped following, 2: it is promoted
    std::uint8_t has_later_limit;
};

class PermitModel {
public:
    using State = PermitState;
    explicit PermitModel(const PermitSetting &setting, const PermitRules &rules = {})
        : setting_(setting), rules_(rules)
    {
    }

    State start() const;
    const char *fault(const State &state) const;
    bool is_end(const State &state) const;

    template <typename Emit>
    void each_next(const State &state, Emit &&emit) const;

    bool start_job(State &state, std::size_t n, std::size_t job) const;
    bool finish_job(State &state, std::size_t n, std::size_t job) const;
    bool crash(State &state, std::size_t n) const;
    bool ask(State &state, std::size_t n) const;
    bool meet(State &state, std::size_t n) const;
    bool take_request(State &state, std::size_t n, std::size_t which, bool comes_again) const;
    bool take_answer(State &state, std::size_t n, std::size_t which, bool comes_again) const;
    bool lose_request(State &state, std::size_t n, std::size_t which) const;
    bool lose_answer(State &state, std::size_t n, std::size_t which) const;
    bool pass_turn(State &state) const;
    bool replace_authority(State &state) const;
    bool change_limit(State &state) const;
    bool stop_following(State &state) const;
    bool promote(State &state) const;

private:
    Weight limit(const State &state) const;
    Weight running(const State &state, std::size_t n) const;
    core::PermitNeed need(const State &state, std::size_t n) const;
    PermitAuthority authority(const State &state) const;
    void put_back(State &state, const PermitAuthority &authority,
                  const std::vector<PermitAnswer> &answers) const;

    PermitSetting setting_;
    PermitRules rules_;
};

template <typename Emit>
void PermitModel::each_next(const State &state, Emit &&emit) const
{
    const auto attempt = [&](const char *what, auto &&step) {
        State next = state;
        if (step(next))
            emit(next, what);
    };
    attempt("the turn passes", [&](State &next) { return pass_turn(next); });
    attempt("there is a new authority", [&](State &next) { return replace_authority(next); });
    attempt("the limit changes", [&](State &next) { return change_limit(next); });
    attempt("the standby of 1 stops to follow", [&](State &next) { return stop_following(next); });
    attempt("the standby of 1 is promoted", [&](State &next) { return promote(next); });
    for (std::size_t n = 0; n < permit_nodes; ++n) {
        const auto at = [&](const char *first, const char *second, auto &&step) {
            attempt(n == 0 ? first : second, step);
        };
        at("1 crashes", "2 crashes", [&](State &next) { return crash(next, n); });
        at("1 asks", "2 asks", [&](State &next) { return ask(next, n); });
        at("1 meets the authority", "2 meets the authority",
           [&](State &next) { return meet(next, n); });
        for (std::size_t job = 0; job < jobs_of_node; ++job) {
            at("1 starts a job", "2 starts a job",
               [&](State &next) { return start_job(next, n, job); });
            at("1 finishes a job", "2 finishes a job",
               [&](State &next) { return finish_job(next, n, job); });
        }
        for (std::size_t which = 0; which < most_late_messages; ++which) {
            for (const bool comes_again : {false, true}) {
                at("a request of 1 comes", "a request of 2 comes",
                   [&](State &next) { return take_request(next, n, which, comes_again); });
                at("an answer comes to 1", "an answer comes to 2",
                   [&](State &next) { return take_answer(next, n, which, comes_again); });
            }
            at("a request of 1 is lost", "a request of 2 is lost",
               [&](State &next) { return lose_request(next, n, which); });
            at("an answer to 1 is lost", "an answer to 2 is lost",
               [&](State &next) { return lose_answer(next, n, which); });
        }
    }
}

}  // namespace hipq::test
