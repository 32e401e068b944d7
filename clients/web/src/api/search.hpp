// A search of jobs, newest first, in many short statements within a limit of time.
#pragma once

#include <chrono>
#include <cstdint>

#include "api/call.hpp"

namespace hipq::web {

// A queue whose jobs are looked for.
struct Searched {
    std::string name;
    std::string literal;  // the name as SQL has it
    std::string table;
    bool may_read;
};

// One queue, or all that the role sees. Throws Problem if there is none of that name.
std::vector<Searched> searched_queues(Link &link, const std::optional<std::string> &name);

// The ids of the jobs that executors run: an array of SQL.
std::string running_jobs(Link &link);

// Joins what a statement says for each of a few queues: the planner takes some 0.3 ms for each.
class Groups {
public:
    explicit Groups(std::vector<Searched> queues) : queues_(std::move(queues)) {}

    // The statement of each group. branch: with places, see statements::filled().
    std::vector<std::string> statements(const std::string &branch) const;

private:
    static constexpr std::size_t queues_at_once = 20;
    std::vector<Searched> queues_;
};

// Looks through ids from above, window by window, until it has enough, is through, or time is up.
// How wide a window is depends on how long the last one took: a statement is to take some 30 ms.
class Search {
public:
    // Reads the conditions of a call. Throws Problem if one of them makes no sense.
    explicit Search(const Call &call);

    // {"jobs": [...], "next": ..., "partial": ..., "hidden": ...}
    std::string run();

private:
    using Id = std::int64_t;
    struct Found {
        Id id;
        std::string json;
    };

    void read_conditions(const Call &call);
    void read_outcome(const std::string &outcome);
    void add(const std::string &condition, const std::string &value);
    bool find_bounds();
    void look_from(Id from);
    void fit_window(std::chrono::duration<double> took);
    std::string answer(bool is_through);

    Link &link_;
    Groups groups_{{}};
    std::size_t hidden_ = 0;  // queues that the role sees, and whose jobs it may not read
    std::size_t limit_ = 50;
    std::string conditions_;
    Parameters parameters_;
    bool is_filtered_ = false;
    Id below_ = INT64_MAX;  // ids looked at next are less
    Id least_ = 0;          // there are none less than this one
    Id window_ = 20'000;
    std::vector<Found> found_;
};

}  // namespace hipq::web
