// Explores all states that a model can reach, breadth first, and finds faults.
//
// A model has
//   State                               plain bytes without padding that distinguish all states
//   State start() const
//   void each_next(state, emit) const   calls emit(next state, event) for every possible next event
//   const char *fault(state) const      the fault of a state, or null
//   bool is_end(state) const            whether everything is done
//
// It also finds states from which no path leads to an end: there the model is stuck, or runs in a
// cycle. If there are none, every run ends, provided that no possible event is postponed forever.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace hipq::test {

struct Findings {
    std::size_t states = 0;
    std::size_t steps = 0;
    std::size_t ends = 0;
    std::string fault;               // empty: none
    std::vector<std::string> story;  // the events from the start to the fault
};

template <typename Model>
class Exploration {
public:
    using State = typename Model::State;
    static_assert(std::has_unique_object_representations_v<State>);

    explicit Exploration(const Model &model, std::size_t most_states = 20'000'000)
        : model_(model), most_states_(most_states), table_(1024)
    {
    }

    Findings run()
    {
        add(model_.start(), none, "start");
        for (std::size_t at = 0; at < states_.size() && findings_.fault.empty(); ++at) {
            const State state = states_[at];
            model_.each_next(state, [&](const State &next, const char *what) {
                ++findings_.steps;
                add_edge(static_cast<Index>(at), add(next, static_cast<Index>(at), what));
            });
        }
        findings_.states = states_.size();
        if (findings_.fault.empty())
            find_stuck();
        return findings_;
    }

private:
    using Index = std::uint32_t;
    static constexpr Index none = UINT32_MAX;
    struct Edge {
        Index from;
        Index next;  // among the edges that lead to the same state
    };
    struct Origin {
        Index from;
        Index edges;  // the first edge that leads here
        const char *what;
    };
    // Entries have the hash, so that most states are distinguished without a comparison.
    struct Entry {
        Index state = none;
        std::uint32_t hash = 0;
    };

    static std::uint32_t hash(const State &state)
    {
        return static_cast<std::uint32_t>(
            std::hash<std::string_view>()({reinterpret_cast<const char *>(&state), sizeof(State)}));
    }

    // The entry of the state, or the empty entry where it belongs.
    Entry &find(const State &state, std::uint32_t hash)
    {
        std::size_t at = hash % table_.size();
        while (table_[at].state != none &&
               (table_[at].hash != hash ||
                std::memcmp(&states_[table_[at].state], &state, sizeof state) != 0))
            at = (at + 1) % table_.size();
        return table_[at];
    }

    void grow()
    {
        std::vector<Entry> larger(table_.size() * 2);
        for (const Entry &entry : table_)
            if (entry.state != none) {
                std::size_t at = entry.hash % larger.size();
                while (larger[at].state != none)
                    at = (at + 1) % larger.size();
                larger[at] = entry;
            }
        table_ = std::move(larger);
    }

    Index add(const State &state, Index from, const char *what)
    {
        const std::uint32_t its_hash = hash(state);
        if (const Entry &known = find(state, its_hash); known.state != none)
            return known.state;
        if (states_.size() == most_states_)
            throw std::length_error("the model has too many states");
        if (states_.size() * 2 > table_.size())
            grow();
        const Index index = static_cast<Index>(states_.size());
        find(state, its_hash) = {index, its_hash};
        states_.push_back(state);
        origins_.push_back({from, none, what});
        if (const char *fault = model_.fault(state); fault != nullptr && findings_.fault.empty())
            report(fault, index);
        return index;
    }

    void add_edge(Index from, Index to)
    {
        edges_.push_back({from, origins_[to].edges});
        origins_[to].edges = static_cast<Index>(edges_.size() - 1);
    }

    void report(const char *fault, Index index)
    {
        findings_.fault = fault;
        for (Index at = index; at != none; at = origins_[at].from)
            findings_.story.emplace_back(origins_[at].what);
        std::reverse(findings_.story.begin(), findings_.story.end());
    }

    // Backwards from all ends; states that are not reached are stuck.
    void find_stuck()
    {
        std::vector<bool> is_met(states_.size());
        std::vector<Index> open;
        for (Index i = 0; i < states_.size(); ++i)
            if (model_.is_end(states_[i])) {
                is_met[i] = true;
                open.push_back(i);
            }
        findings_.ends = open.size();
        while (!open.empty()) {
            const Index to = open.back();
            open.pop_back();
            for (Index edge = origins_[to].edges; edge != none; edge = edges_[edge].next)
                if (const Index from = edges_[edge].from; !is_met[from]) {
                    is_met[from] = true;
                    open.push_back(from);
                }
        }
        const auto stuck = std::find(is_met.begin(), is_met.end(), false);
        if (stuck != is_met.end())
            report("no way leads to the end", static_cast<Index>(stuck - is_met.begin()));
    }

    const Model &model_;
    std::size_t most_states_;
    std::vector<State> states_;
    std::vector<Origin> origins_;
    std::vector<Edge> edges_;
    std::vector<Entry> table_;  // its size is a power of 2
    Findings findings_;
};

template <typename Model>
Findings explore(const Model &model)
{
    return Exploration<Model>(model).run();
}

// For the message of a test.
inline std::string told(const Findings &findings)
{
    std::string result =
        findings.fault + " (" + std::to_string(findings.states) + " states seen), after";
    for (const std::string &each : findings.story)
        result += "\n  " + each;
    return result;
}

}  // namespace hipq::test
