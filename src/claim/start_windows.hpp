// Time windows at work: may a job start now, and if not, when? Claims and hipq.why() ask here.
#pragma once

#include "pg/spi.hpp"

namespace hipq::claim {

// The stretch of time in which a job may start that lies around now, or the next one.
struct StartWindow {
    pg::Time from;                  // later than now: not before
    pg::Time until;                 // infinity: it does not end
    const char *problem = nullptr;  // why nobody can tell; it is worth another look at `from`
    bool is_open(pg::Time now) const { return from <= now; }
};

// Of a job with these time windows, as its row has them; the zone is its type's. What they say is
// kept in mind until it changes.
StartWindow start_window(std::string_view windows, const std::string &zone, pg::Time now);

// The zone in which the time windows of jobs of a type are read. Needs a transaction.
std::string time_zone_of(int queue_id, std::string_view job_type);

// The time windows that one look at the lane meets: of jobs of one type, at one moment.
class StartWindows {
public:
    StartWindows(int queue_id, std::string_view job_type, pg::Time now)
        : queue_id_(queue_id), job_type_(job_type), now_(now)
    {
    }

    // Jobs with these windows are not to be started before; not later than now: they may. Needs a
    // transaction.
    pg::Time opens(std::string_view windows);

    // What opens() has said of late, so that a scan need not leave the PostgreSQL regime to ask.
    struct Known {
        std::string windows;
        pg::Time opens;
    };
    std::span<const Known> known() const { return known_; }

    // Of all that were asked for: when the first of those that are open close, and when the first
    // of the others open.
    pg::Time first_closing() const { return first_closing_; }
    pg::Time first_opening() const { return first_opening_; }

private:
    int queue_id_;
    std::string job_type_;
    pg::Time now_;
    std::optional<std::string> zone_{};
    std::vector<Known> known_{};
    std::size_t next_place_ = 0;
    pg::Time first_closing_ = pg::infinity;
    pg::Time first_opening_ = pg::infinity;
};

}  // namespace hipq::claim
