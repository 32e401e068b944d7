// Runs each duty of a scheduler by itself, and sets aside one that fails.
//
// This file keeps the duties that are set aside; shared memory has a copy for views.
#include "process/process.hpp"

#include "catalog/cache.hpp"
#include "pg/clock.hpp"
#include "pg/error_classes.hpp"
#include "pg/transaction.hpp"
#include "shared/databases/duties_set_aside.hpp"

namespace hipq::process {

namespace {

using catalog::Queue;
using core::Duty;
using core::Trouble;

constexpr int longest_lock = 10;                      // ms
constexpr std::int64_t longest_memory = 300'000'000;  // us; how long to remember a duty that is not
                                                      // tried again
constexpr std::int64_t report_interval = 60'000'000;  // us

struct Rest {
    pg::Time until{0};
    int in_a_row = 0;  // errors; locks do not count
    pg::Time reported{0};
};

using Rests = std::map<std::pair<int, Duty>, Rest>;  // by queue

constinit Rests *rests = nullptr;  // on the heap: no destructor at exit

pg::Time real_now()
{
    return pg::Time{::GetCurrentTimestamp()};
}

// Class 57: another process wants this one to stop.
bool is_for_process(const pg::Error &error)
{
    return error.sqlstate().starts_with("57");
}

std::string of_whom(const Queue *queue)
{
    return queue == nullptr ? "this database" : "queue \"" + queue->full_name() + "\"";
}

void report(Duty duty, const Queue *queue, const pg::Error &error)
{
    const std::string what(core::name(duty));
    const std::string whom = of_whom(queue);
    pg::call([&] {
        ereport(WARNING, errcode(error.sqlerrcode()),
                errmsg("cannot %s of %s: %s", what.c_str(), whom.c_str(), error.message().c_str()),
                errdetail("It is set aside and tried again from time to time; all else goes on."));
    });
}

void set_aside(Duty duty, const Queue *queue, const pg::Error &error)
{
    const int queue_id = queue == nullptr ? 0 : queue->id;
    const Trouble trouble = pg::is_lock_trouble(error) ? Trouble::locked : Trouble::failed;
    const pg::Time now = real_now();
    Rest &rest = (*rests)[{queue_id, duty}];
    rest.in_a_row = trouble == Trouble::locked ? 0 : rest.in_a_row + 1;
    rest.until = now + core::rest_after(trouble, rest.in_a_row);
    if (now >= rest.reported + report_interval) {
        rest.reported = now;
        report(duty, queue, error);
    }
    databases::note_set_aside(duty, queue_id, trouble, error.message());
}

std::optional<pg::Error> error_of(const std::function<void()> &fn)
{
    const pg::LockPatience patience(longest_lock);
    try {
        fn();
    } catch (const pg::Error &error) {
        if (is_for_process(error))
            throw;
        return error;
    }
    return std::nullopt;
}

// Returns, by hipq's clock, when the first of the rests that have not ended yet ends.
pg::Time first_end(Rests::const_iterator rest, Rests::const_iterator end, pg::Time now)
{
    pg::Time next = pg::infinity;
    for (; rest != end; ++rest)
        if (rest->second.until > now)
            next = std::min(next, pg::now() + (rest->second.until.value - now.value));
    return next;
}

template <class Predicate>
void forget_if(Predicate is_over)
{
    std::erase_if(*rests, [&](const auto &entry) {
        const auto &[queue_id, duty] = entry.first;
        const bool goes = is_over(queue_id, entry.second);
        if (goes)
            databases::clear_set_aside(duty, queue_id);
        return goes;
    });
}

}  // namespace

bool do_duty(Duty duty, const Queue *queue, const std::function<void()> &fn)
{
    const int queue_id = queue == nullptr ? 0 : queue->id;
    const auto known = rests->find({queue_id, duty});
    if (known != rests->end() && known->second.until > real_now())
        return false;
    const auto error = error_of(fn);
    if (error.has_value()) {
        set_aside(duty, queue, *error);
        return false;
    }
    if (known != rests->end()) {
        rests->erase(known);
        databases::clear_set_aside(duty, queue_id);
    }
    return true;
}

void forget_duties(const catalog::Catalogue &catalogue)
{
    forget_if([&](int queue_id, const Rest &) {
        const Queue *queue = catalogue.find(queue_id);
        return queue_id != 0 && (queue == nullptr || queue->is_dropped);
    });
}

pg::Time next_duty()
{
    const pg::Time now = real_now();
    forget_if([&](int, const Rest &rest) { return rest.until + longest_memory < now; });
    return first_end(rests->begin(), rests->end(), now);
}

pg::Time next_duty(int queue_id)
{
    return first_end(rests->lower_bound({queue_id, Duty{}}),
                     rests->lower_bound({queue_id + 1, Duty{}}), real_now());
}

void begin_duties()
{
    rests = new Rests();
    databases::clear_all_set_aside();
}

}  // namespace hipq::process
