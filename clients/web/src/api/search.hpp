// A search for jobs, newest first, with many short statements and a time limit.
#pragma once

#include <chrono>
#include <cstdint>

#include "api/call.hpp"

namespace hipq::web {

// A queue to search.
struct Searched {
    std::string name;
    std::string literal;  // the name as an SQL literal
    std::string table;
    bool may_read;
};

// One queue, or all that the role sees. Throws Problem if no queue has this name.
std::vector<Searched> searched_queues(Link &link, const std::optional<std::string> &name);

// The ids of the jobs that executors run: an SQL array.
std::string running_jobs(Link &link);

// Joins the results of a statement for several queues. The planner takes up to 5 ms for each queue
// whose tables are new to the session, so there are few at once.
std::vector<std::string> joined(const std::vector<Searched> &queues, const std::string &branch);

// Searches one band of queues after the other, and in each the ids from above, window by window,
// until it has enough, reaches the end, or time is up. With few queues there is one band, and the
// first results are the newest of all.
//
// The width of a window depends on the time of the previous one: a statement should take about 30
// ms.
class Search {
public:
    // Reads the conditions of a call. Throws Problem for an invalid condition.
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
    std::size_t hidden_ = 0;  // queues that the role sees, but whose jobs it may not read
    std::size_t limit_ = 50;
    std::string conditions_;
    Parameters parameters_;
    bool is_filtered_ = false;

    // The position of the search: a band, in which the next ids are below the upper bound, and not
    // below the least existing id.
    std::size_t band_ = 0;
    Id below_ = INT64_MAX;
    Id least_ = 0;
    Id window_ = 20'000;
    bool is_cut_ = false;  // there are more than requested
    std::vector<Found> found_;
};

}  // namespace hipq::web
