// The scheduler in the model of watched jobs: src/flow/waits_duty.cpp and src/flow/decide.cpp.
#include "watch_model_bits.hpp"

namespace hipq::test {

using core::AfterVerdict;

// ---- a look

bool WatchModel::step_scheduler(State &state) const
{
    SchedulerState &scheduler = state.scheduler;
    switch (scheduler.step) {
    case SchedulerStep::rests: {
        bool can_try_again = false;
        for (std::size_t job = 0; job < jobs_after; ++job)
            can_try_again = can_try_again || (has(scheduler.locked, job) && state.locks[job] == 0);
        if (state.is_asked == 0 && !can_try_again)
            return false;
        scheduler.step = SchedulerStep::is_awake;
        break;
    }
    case SchedulerStep::is_awake:
        state.is_asked = 0;
        scheduler.step = SchedulerStep::reads_calls;
        break;
    case SchedulerStep::reads_calls:
        scheduler.present = state.calls;
        if (scheduler.known == unknown)
            scheduler.known = state.seen;
        scheduler.step = SchedulerStep::takes_list;
        break;
    case SchedulerStep::takes_list:
        take_reports(state);
        break;
    case SchedulerStep::chooses:
        choose(state);
        break;
    case SchedulerStep::finds_later:
        scheduler.is_after_ends = 1;
        scheduler.old = scheduler.ended;
        begin_decisions(state, jobs_after_any(state, scheduler.ended));
        break;
    case SchedulerStep::finds_held:
        walk_on(state);
        break;
    case SchedulerStep::counts_looks:
        count_looks(state, scheduler.ids,
                    rules_.scheduler_counts_many ? Number{jobs_before} : Number{1});
        scheduler.step = SchedulerStep::reads;
        break;
    case SchedulerStep::reads:
        read(state);
        break;
    case SchedulerStep::decides:
        decide(state);
        break;
    case SchedulerStep::watches:
        watch(state);
        break;
    case SchedulerStep::has_half_added:
        end_adding(state, first(scheduler.to_watch));
        end_watch(state);
        break;
    case SchedulerStep::commits:
        commit_decisions(state);
        break;
    case SchedulerStep::compares_calls:
        scheduler.step =
            scheduler.known == state.calls ? SchedulerStep::rests : SchedulerStep::is_awake;
        break;
    case SchedulerStep::compares:
        compare_generation(state);
        break;
    case SchedulerStep::reports:
        put_report(state, scheduler.report);
        scheduler.step = SchedulerStep::asks;
        break;
    case SchedulerStep::asks:
        state.is_asked = 1;
        end_decisions(state);
        break;
    }
    return true;
}

void WatchModel::take_reports(State &state) const
{
    SchedulerState &scheduler = state.scheduler;
    for (Report &report : state.list)
        add(scheduler.ended, std::exchange(report, nothing));
    if (scheduler.walk == 0 && scheduler.known != scheduler.present) {
        scheduler.walk = scheduler.present;
        scheduler.place = first_place;
    }
    scheduler.present = 0;
    if ((scheduler.ended != 0 || scheduler.place != 0) && rules_.scheduler_marks_work)
        state.seen = 0;
    scheduler.step = SchedulerStep::chooses;
    if (scheduler.locked != 0)
        begin_decisions(state, std::exchange(scheduler.locked, Bits{0}));
}

void WatchModel::choose(State &state) const
{
    SchedulerState &scheduler = state.scheduler;
    if (scheduler.ended != 0) {
        scheduler.step = SchedulerStep::finds_later;
        return;
    }
    if (scheduler.place != 0) {
        scheduler.step = SchedulerStep::finds_held;
        return;
    }
    if (scheduler.walk != 0)
        scheduler.known = std::exchange(scheduler.walk, Number{0});
    if (scheduler.locked == 0)
        state.seen = scheduler.known;
    scheduler.step = SchedulerStep::compares_calls;
}

// The next held jobs.
void WatchModel::walk_on(State &state) const
{
    SchedulerState &scheduler = state.scheduler;
    const Bits passed = static_cast<Bits>((1U << (scheduler.place - first_place)) - 1);
    const Bits held = without(state.waiting, static_cast<Bits>(state.free | passed));
    const Bits next = setting_.walks_one_by_one ? first(held) : held;
    scheduler.place = next == 0 ? Number{0} : Number(number_of(last(next)) + 1 + first_place);
    begin_decisions(state, next);
}

// The scheduler has other duties, and takes reports again afterwards.
bool WatchModel::run_out_of_time(State &state) const
{
    SchedulerState &scheduler = state.scheduler;
    if (scheduler.step != SchedulerStep::chooses || (scheduler.ended == 0 && scheduler.place == 0))
        return false;
    scheduler.step = SchedulerStep::is_awake;
    return true;
}

// The process exits between two transactions or within one, which rolls back. Callbacks of a commit
// cannot be interrupted.
bool WatchModel::exit_scheduler(State &state) const
{
    SchedulerState &scheduler = state.scheduler;
    if (state.exits == setting_.exits || scheduler.step >= SchedulerStep::compares)
        return false;
    for (std::uint8_t &lock : state.locks)
        if (lock == by_scheduler)
            lock = 0;
    scheduler = {};
    scheduler.step = SchedulerStep::is_awake;
    scheduler.known = unknown;
    change(state.exits, 1);
    return true;
}

// ---- a transaction that decides

void WatchModel::begin_decisions(State &state, Bits ids) const
{
    SchedulerState &scheduler = state.scheduler;
    scheduler.ids = ids;
    if (ids == 0)
        end_decisions(state);
    else
        begin_round(state);
}

void WatchModel::begin_round(State &state) const
{
    const bool counts = setting_.has_few_before && rules_.scheduler_counts_looks;
    state.scheduler.step = counts ? SchedulerStep::counts_looks : SchedulerStep::reads;
}

void WatchModel::read(State &state) const
{
    SchedulerState &scheduler = state.scheduler;
    scheduler.ids = static_cast<Bits>(scheduler.ids & without(state.waiting, state.free));
    remove(scheduler.ids, scheduler.released);
    scheduler.again = 0;
    scheduler.seen_ended =
        rules_.report_is_an_end ? static_cast<Bits>(state.ended | scheduler.ended) : state.ended;
    scheduler.seen_present = state.present;
    go_on(state);
}

// To the next job, to the next read, or to the commit.
void WatchModel::go_on(State &state) const
{
    SchedulerState &scheduler = state.scheduler;
    if (scheduler.ids != 0) {
        scheduler.step = SchedulerStep::decides;
        return;
    }
    scheduler.seen_ended = scheduler.seen_present = 0;
    add(scheduler.old, std::exchange(scheduler.added, Bits{0}));
    if (rules_.scheduler_reads_again)
        scheduler.ids = std::exchange(scheduler.again, Bits{0});
    if (scheduler.ids == 0)
        scheduler.step = SchedulerStep::commits;
    else
        begin_round(state);
}

void WatchModel::decide(State &state) const
{
    SchedulerState &scheduler = state.scheduler;
    const Bits job = first(scheduler.ids);
    const Bits waits_for =
        setting_.waits_for_key ? scheduler.seen_present : setting_.before[number_of(job)];
    const Bits ended = scheduler.seen_ended;
    if (judge(waits_for, ended) == AfterVerdict::wait) {
        // Of a job that any one may decide, all that are unfinished are read by another snapshot.
        const bool is_any = setting_.policy == core::AfterPolicy::any;
        scheduler.to_watch =
            to_watch(waits_for, is_any ? static_cast<Bits>(ended | state.ended) : ended);
        scheduler.all_are_old = scheduler.to_watch != 0 || !rules_.reads_again_if_none_is_left;
        if (scheduler.to_watch == 0) {
            end_job(state);
            return;
        }
        const bool is_new_row = setting_.waits_for_key && scheduler.to_watch != bit(state.holder);
        scheduler.new_row = is_new_row ? report_of(scheduler.to_watch) : nothing;
        scheduler.step = SchedulerStep::watches;
        return;
    }
    const bool key_is_taken = setting_.waits_for_key && state.present != scheduler.seen_present;
    add(key_is_taken || !release(state, job, by_scheduler) ? scheduler.locked : scheduler.released,
        job);
    remove(scheduler.ids, job);
    go_on(state);
}

void WatchModel::watch(State &state) const
{
    SchedulerState &scheduler = state.scheduler;
    const Bits job = first(scheduler.to_watch);
    const bool is_old =
        (scheduler.old & job) != 0 || (rules_.found_bit_is_old && (state.filter & job) != 0);
    if (!is_old)
        scheduler.all_are_old = 0;
    scheduler.has_added = 1;
    if (begin_to_add(state, job))
        scheduler.step = SchedulerStep::has_half_added;
    else
        end_watch(state);
}

void WatchModel::end_watch(State &state) const
{
    SchedulerState &scheduler = state.scheduler;
    const Bits watched = first(scheduler.to_watch);
    add(scheduler.added, watched);
    remove(scheduler.to_watch, watched);
    scheduler.step = SchedulerStep::watches;
    if (scheduler.to_watch == 0)
        end_job(state);
}

// A job goes on waiting.
void WatchModel::end_job(State &state) const
{
    SchedulerState &scheduler = state.scheduler;
    const Bits job = first(scheduler.ids);
    if (scheduler.all_are_old == 0)
        add(scheduler.again, job);
    scheduler.all_are_old = 0;
    remove(scheduler.ids, job);
    go_on(state);
}

void WatchModel::commit_decisions(State &state) const
{
    SchedulerState &scheduler = state.scheduler;
    add(state.free, std::exchange(scheduler.released, Bits{0}));
    for (std::uint8_t &lock : state.locks)
        if (lock == by_scheduler)
            lock = 0;
    if (scheduler.new_row != nothing)
        state.holder = number_of(scheduler.new_row);
    scheduler.step = SchedulerStep::compares;
}

void WatchModel::compare_generation(State &state) const
{
    SchedulerState &scheduler = state.scheduler;
    if (scheduler.is_renewed != 0)
        scheduler.report = all_waits;
    else if (rules_.new_row_is_reported)
        scheduler.report = scheduler.new_row;
    if (scheduler.report == nothing) {
        end_decisions(state);
        return;
    }
    count_new_wait(state);
    scheduler.step = SchedulerStep::reports;
}

// What belongs to the transaction is forgotten.
void WatchModel::end_decisions(State &state) const
{
    const SchedulerState ended = state.scheduler;
    SchedulerState &scheduler = state.scheduler;
    scheduler = {};
    scheduler.step = SchedulerStep::chooses;
    scheduler.known = ended.known;
    scheduler.walk = ended.walk;
    scheduler.locked = ended.locked;
    scheduler.ended = ended.is_after_ends != 0 ? Bits{0} : ended.ended;
    scheduler.place = ended.place;
}

}  // namespace hipq::test
