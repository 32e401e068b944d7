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

// Joins what a statement says for each of some queues. The planner takes up to 5 ms for each of
// them when the session has not seen its tables yet: few come at once.
std::vector<std::string> joined(const std::vector<Searched> &queues, const std::string &branch);

// Looks through one band of queues after the other, and in each through ids from above, window by
// window, until it has enough, is through, or time is up. If queues are few one band is all of
// them, and what comes first is the newest of all.
//
// How wide a window is depends on how long the last one took: a statement is to take some 30 ms.
class Search {
public:
    // Reads the conditions of a call. Throws Problem if one of them makes no sense.
    explicit Search(const Call &call);

    // {"jobs": [...], "next": ..., "partial": ..., "by_queue": ..., "hidden": ...}
    std::string run();

private:
    using Id = std::int64_t;
    using Time = std::chrono::steady_clock;
    struct Found {
        Id id;
        std::string json;
    };

    void read_conditions(const Call &call);
    void read_outcome(const std::string &outcome);
    void read_place(const std::string &after);
    void add(const std::string &condition, const std::string &value);
    void make_bands(std::vector<Searched> queues);

    void look_through_band(Time::time_point until);
    void look_through_windows(Time::time_point until);
    void find_bounds();
    void look_from(Id from);
    void fit_window(std::chrono::duration<double> took);
    void sort_band(std::size_t start);
    std::string answer();

    Link &link_;
    std::vector<std::vector<Searched>> bands_;
    std::size_t hidden_ = 0;  // queues that the role sees, and whose jobs it may not read
    std::size_t limit_ = 50;
    std::string conditions_;
    Parameters parameters_;
    bool is_filtered_ = false;

    // Where the search is: a band, in which ids looked at next are less than one, and not less than
    // the least there is.
    std::size_t band_ = 0;
    Id below_ = INT64_MAX;
    Id least_ = 0;
    Id window_ = 20'000;
    bool is_cut_ = false;  // there are more than were asked for
    std::vector<Found> found_;
};

}  // namespace hipq::web
