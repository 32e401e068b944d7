// Goes through all states that a model can reach, breadth first, and looks for what must not be.
//
// A model has
//   State                               plain bytes without padding, all that is to be told apart
//   State start() const
//   void each_next(state, emit) const   calls emit(next state, what happened) for all that may
//                                       happen next
//   const char *fault(state) const      what is wrong with a state, or null
//   bool is_end(state) const            all is done
//
// Besides faults it finds states from which no way leads to an end: there the model is stuck, or
// runs in a circle. If there are none, every run ends in which nothing that can happen is put off
// for ever.
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
    std::vector<std::string> story;  // what happened until then, from the start
};

template <typename Model>
class Exploration {
public:
    using State = typename Model::State;
    static_assert(std::has_unique_object_representations_v<State>);

    explicit Exploration(const Model &model, std::size_t most_states = 20'000'000)
        : model_(model), most_states_(most_states), table_(1024, none)
    {
    }

    Findings run()
    {
        add(model_.start(), none, "start");
        for (std::size_t at = 0; at < states_.size() && findings_.fault.empty(); ++at) {
            const State state = states_[at];
            model_.each_next(state, [&](const State &next, const char *what) {
                ++findings_.steps;
                edges_.push_back({add(next, static_cast<Index>(at), what), static_cast<Index>(at)});
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
        Index to;
        Index from;
    };
    struct Origin {
        Index from;
        const char *what;
    };

    static std::size_t hash(const State &state)
    {
        return std::hash<std::string_view>()(
            {reinterpret_cast<const char *>(&state), sizeof(State)});
    }

    Index *find(const State &state)
    {
        std::size_t at = hash(state) % table_.size();
        while (table_[at] != none && std::memcmp(&states_[table_[at]], &state, sizeof state) != 0)
            at = (at + 1) % table_.size();
        return &table_[at];
    }

    void grow()
    {
        table_.assign(table_.size() * 2, none);
        for (Index i = 0; i < states_.size(); ++i)
            *find(states_[i]) = i;
    }

    Index add(const State &state, Index from, const char *what)
    {
        if (Index *known = find(state); *known != none)
            return *known;
        if (states_.size() == most_states_)
            throw std::length_error("the model has too many states");
        if (states_.size() * 2 > table_.size())
            grow();
        const Index index = static_cast<Index>(states_.size());
        *find(state) = index;
        states_.push_back(state);
        origins_.push_back({from, what});
        if (const char *fault = model_.fault(state); fault != nullptr && findings_.fault.empty())
            report(fault, index);
        return index;
    }

    void report(const char *fault, Index index)
    {
        findings_.fault = fault;
        for (Index at = index; at != none; at = origins_[at].from)
            findings_.story.emplace_back(origins_[at].what);
        std::reverse(findings_.story.begin(), findings_.story.end());
    }

    // Backwards from all ends; what is not met is stuck.
    void find_stuck()
    {
        std::sort(edges_.begin(), edges_.end(),
                  [](const Edge &a, const Edge &b) { return a.to < b.to; });
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
            auto edge = std::lower_bound(edges_.begin(), edges_.end(), to,
                                         [](const Edge &a, Index b) { return a.to < b; });
            for (; edge != edges_.end() && edge->to == to; ++edge)
                if (!is_met[edge->from]) {
                    is_met[edge->from] = true;
                    open.push_back(edge->from);
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
    std::vector<Index> table_;
    Findings findings_;
};

template <typename Model>
Findings explore(const Model &model)
{
    return Exploration<Model>(model).run();
}

// For a message of a test.
inline std::string told(const Findings &findings)
{
    std::string result =
        findings.fault + " (" + std::to_string(findings.states) + " states seen), after";
    for (const std::string &each : findings.story)
        result += "\n  " + each;
    return result;
}

}  // namespace hipq::test
