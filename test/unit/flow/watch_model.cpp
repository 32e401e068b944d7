// The steps of the model of watched jobs.
#include "watch_model_bits.hpp"

#include <algorithm>

namespace hipq::test {

using core::AfterPolicy;
using core::AfterVerdict;

WatchState WatchModel::start() const
{
    State state{};
    state.present = setting_.present;
    for (const WaiterSetting &waiter : setting_.waiters)
        remove(state.present, waiter.makes);
    if (setting_.waits_for_key)
        state.present = 0b01;
    for (std::size_t n = 0; n < most_waiters; ++n)
        if (setting_.waiters[n].jobs == 0 && setting_.waiters[n].adds == 0)
            state.waiters[n].step = WaiterStep::is_done;
    state.waiting = setting_.waiting;
    state.calls = 1;
    state.scheduler.step = SchedulerStep::is_awake;
    state.scheduler.known = unknown;
    return state;
}

// ---- jobs

// What a job waits for: of a job that waits for its key, those that have had the key.
Bits WatchModel::before(const State &state, std::size_t job) const
{
    return setting_.waits_for_key ? state.present : setting_.before[job];
}

AfterVerdict WatchModel::judge(Bits before, Bits ended) const
{
    const auto count = [&](Bits jobs) { return std::int64_t{std::popcount(Bits(before & jobs))}; };
    return core::judge(setting_.policy, setting_.on_failure,
                       {count(Bits(~ended)), count(without(ended, setting_.fail)), 0,
                        count(Bits(ended & setting_.fail))});
}

Bits WatchModel::to_watch(Bits before, Bits ended) const
{
    const Bits unfinished = without(before, ended);
    const bool are_all = setting_.policy == AfterPolicy::any || setting_.has_few_before;
    return are_all ? unfinished : last(unfinished);
}

// The waiting jobs whose rows name any of the ended jobs.
Bits WatchModel::jobs_after_any(const State &state, Bits ended) const
{
    Bits jobs = 0;
    for (std::size_t job = 0; job < jobs_after; ++job) {
        const Bits named = setting_.waits_for_key ? bit(state.holder) : setting_.before[job];
        if (has(state.waiting, job) && (named & ended) != 0)
            add(jobs, bit(job));
    }
    return jobs;
}

// ---- shared memory

// Returns whether there is more to do, in another step.
bool WatchModel::begin_to_add(State &state, Bits job) const
{
    if ((state.filter & job) != 0)
        return false;
    if (rules_.count_follows_bit)
        add(state.filter, job);
    else
        change(state.count, 1);
    return true;
}

void WatchModel::end_adding(State &state, Bits job) const
{
    if (rules_.count_follows_bit)
        change(state.count, 1);
    else if ((state.filter & job) != 0)
        change(state.count, -1);
    else
        add(state.filter, job);
}

void WatchModel::put_report(State &state, Report &report) const
{
    const auto end = state.list.begin() + static_cast<std::ptrdiff_t>(setting_.room);
    const auto free = std::find(state.list.begin(), end, nothing);
    if (report == all_waits || free == end)
        change(state.calls, 1);
    else
        *free = report;
    report = nothing;
}

// Of the numbers of new waits and of the generation matters only whether they have changed since a
// process has read them.
void WatchModel::count_new_wait(State &state) const
{
    for (FinisherState &finisher : state.finishers)
        if (finisher.step == FinisherStep::finds_later || finisher.step == FinisherStep::reads ||
            finisher.step == FinisherStep::releases || finisher.is_settled != 0)
            finisher.has_new_wait = 1;
}

// The same for the number of looks at a job, up to the number of jobs before it.
void WatchModel::count_looks(State &state, Bits jobs, Number by)
{
    for (FinisherState &finisher : state.finishers)
        for (std::size_t job = 0; job < jobs_after; ++job)
            if (has(static_cast<Bits>(finisher.later & jobs), job))
                finisher.new_looks[job] = std::min(
                    static_cast<Number>(finisher.new_looks[job] + by), Number{jobs_before});
}

void WatchModel::change_generation(State &state) const
{
    for (WaiterState &waiter : state.waiters)
        if (waiter.step != WaiterStep::begins && waiter.step <= WaiterStep::compares &&
            waiter.step != WaiterStep::is_prepared)
            waiter.is_renewed = 1;
    state.scheduler.is_renewed = state.scheduler.has_added;
}

// Numbers of calls are only compared with each other.
void WatchModel::make_ranks(State &state)
{
    SchedulerState &scheduler = state.scheduler;
    const std::array numbers{&state.calls, &state.seen, &scheduler.known, &scheduler.walk,
                             &scheduler.present};
    std::array<Number, numbers.size()> values{};
    std::ranges::transform(numbers, values.begin(), [](const Number *each) { return *each; });
    std::ranges::sort(values);
    Number rank = 0;
    Number last_value = 0;
    for (const Number value : values) {
        if (value == 0 || value == unknown || value == last_value)
            continue;
        last_value = value;
        ++rank;
        for (Number *each : numbers)
            if (*each == value)
                *each = rank;
    }
}

// ---- a transaction that makes jobs wait

bool WatchModel::step_waiter(State &state, std::size_t n) const
{
    const WaiterSetting &setting = setting_.waiters[n];
    WaiterState &waiter = state.waiters[n];
    switch (waiter.step) {
    case WaiterStep::begins: {
        Bits jobs = setting.adds;
        for (std::size_t job = 0; job < jobs_after; ++job)
            if (has(setting.jobs, job) && !setting.is_restore) {
                const Bits all = setting_.waits_for_key ? Bits{0b01} : setting_.before[job];
                add(jobs, to_watch(all, 0));
                add(jobs, last(without(all, setting.makes)));
            }
        waiter.to_add = jobs;
        waiter.step = jobs == 0 ? WaiterStep::ends : WaiterStep::adds;
        return true;
    }
    case WaiterStep::adds:
        if (begin_to_add(state, first(waiter.to_add))) {
            waiter.step = WaiterStep::has_half_added;
            return true;
        }
        remove(waiter.to_add, first(waiter.to_add));
        break;
    case WaiterStep::has_half_added:
        end_adding(state, first(waiter.to_add));
        remove(waiter.to_add, first(waiter.to_add));
        break;
    case WaiterStep::compares: {
        Bits older = 0;
        for (std::size_t job = 0; job < jobs_after; ++job)
            if (has(setting.jobs, job))
                add(older, setting_.waits_for_key ? Bits{0b01} : setting_.before[job]);
        remove(older, setting.makes);
        if (waiter.report == all_waits || waiter.is_renewed != 0)
            waiter.report = all_waits;
        else if (rules_.waiter_reports)
            waiter.report = report_of(last(older));
        waiter.is_renewed = 0;
        if (waiter.report != nothing)
            count_new_wait(state);
        waiter.step = waiter.report == nothing ? WaiterStep::is_done : WaiterStep::reports;
        return true;
    }
    case WaiterStep::reports:
        put_report(state, waiter.report);
        waiter.step = WaiterStep::asks;
        return true;
    case WaiterStep::asks:
        state.is_asked = 1;
        waiter.step = WaiterStep::is_done;
        return true;
    case WaiterStep::ends:
    case WaiterStep::is_prepared:
    case WaiterStep::is_done:
        return false;
    }
    waiter.step = waiter.to_add == 0 ? WaiterStep::ends : WaiterStep::adds;
    return true;
}

void WatchModel::commit_waiter(State &state, std::size_t n, Report report) const
{
    const WaiterSetting &setting = setting_.waiters[n];
    add(state.present, setting.makes);
    add(state.waiting, setting.jobs);
    WaiterState &waiter = state.waiters[n];
    waiter.report = report;
}

bool WatchModel::end_waiter(State &state, std::size_t n, WaiterStep next) const
{
    const WaiterSetting &setting = setting_.waiters[n];
    const bool may = next == WaiterStep::compares      ? setting.commits
                     : next == WaiterStep::is_prepared ? setting.is_prepared
                                                       : setting.rolls_back;
    if (state.waiters[n].step != WaiterStep::ends || !may)
        return false;
    if (next == WaiterStep::compares)
        commit_waiter(state, n, setting.is_restore ? all_waits : nothing);
    else
        state.waiters[n].is_renewed = 0;
    state.waiters[n].step = next;
    return true;
}

bool WatchModel::commit_prepared(State &state, std::size_t n) const
{
    if (state.waiters[n].step != WaiterStep::is_prepared)
        return false;
    commit_waiter(state, n, all_waits);
    state.waiters[n].step = WaiterStep::compares;
    if (!rules_.prepared_is_reported)
        state.waiters[n] = {WaiterStep::is_done, 0, 0, nothing};
    return true;
}

// ---- a transaction that ends a job

// Returns whether all of these jobs are free when the transaction commits.
bool WatchModel::release(State &state, Bits jobs, std::uint8_t holder) const
{
    bool is_done = true;
    for (std::size_t job = 0; job < jobs_after; ++job) {
        if (!has(jobs, job) || has(state.free, job))
            continue;
        if (state.locks[job] == 0)
            state.locks[job] = holder;
        is_done = is_done && state.locks[job] == holder;
    }
    return is_done;
}

void WatchModel::find_later(State &state, std::size_t n) const
{
    state.finishers[n].later = jobs_after_any(state, bit(n));
}

// Jobs that go on waiting are no reason for a report if all jobs before them are watched.
void WatchModel::read_later(State &state, std::size_t n) const
{
    FinisherState &finisher = state.finishers[n];
    const Bits later = std::exchange(finisher.later, Bits{0});
    const Bits ended = static_cast<Bits>(state.ended | bit(n));
    for (std::size_t job = 0; job < jobs_after; ++job) {
        const AfterVerdict verdict = judge(before(state, job), ended);
        if (has(later, job) && verdict == AfterVerdict::run)
            add(finisher.ready, bit(job));
        if (has(later, job) && verdict == AfterVerdict::wait && setting_.has_few_before) {
            add(finisher.later, bit(job));
            finisher.unfinished[job] =
                static_cast<Number>(std::popcount(without(before(state, job), ended)));
        } else {
            finisher.new_looks[job] = 0;
        }
    }
    finisher.is_settled = (finisher.ready | finisher.later) == later ? 1 : 0;
}

// All unfinished jobs before may have ended meanwhile if there were as many looks. Returns whether
// there is more to do, in another step.
bool WatchModel::count_own_look(State &state, std::size_t n) const
{
    FinisherState &finisher = state.finishers[n];
    const Bits job = first(finisher.later);
    Number &new_looks = finisher.new_looks.at(number_of(job));
    Number &unfinished = finisher.unfinished.at(number_of(job));
    if (new_looks >= unfinished)
        finisher.is_settled = finisher.has_new_wait = 0;
    new_looks = unfinished = 0;
    remove(finisher.later, job);
    if (rules_.ends_count_looks)
        count_looks(state, job, 1);
    return finisher.later != 0;
}

void WatchModel::end_look(FinisherState &finisher, std::size_t n, bool is_found) const
{
    finisher.report = is_found ? report_of(bit(n)) : nothing;
    finisher.is_settled = 0;
    finisher.has_new_wait = 0;
    finisher.later = 0;
    finisher.new_looks = finisher.unfinished = {};
    if (!rules_.finisher_looks_after_commit)
        finisher.step = FinisherStep::commits;
    else
        finisher.step = is_found ? FinisherStep::reports : FinisherStep::is_done;
}

bool WatchModel::step_finisher(State &state, std::size_t n) const
{
    FinisherState &finisher = state.finishers[n];
    const auto look_or_commit = [&](bool is_committed) {
        finisher.step = rules_.finisher_looks_after_commit == is_committed
                            ? FinisherStep::looks_at_count
                            : FinisherStep::commits;
    };
    switch (finisher.step) {
    case FinisherStep::begins:
        if (!has(state.present, n) || has(setting_.never_end, n))
            return false;
        if (has(setting_.release, n) && has(state.filter, n)) {
            finisher.step = FinisherStep::finds_later;
        } else {
            look_or_commit(false);
        }
        return true;
    case FinisherStep::finds_later:
        find_later(state, n);
        finisher.step = FinisherStep::reads;
        return true;
    case FinisherStep::reads:
        read_later(state, n);
        finisher.step = FinisherStep::releases;
        return true;
    case FinisherStep::releases:
        if (!rules_.end_reads_count_first)
            finisher.new_looks = {};
        if (!release(state, finisher.ready, static_cast<std::uint8_t>(by_finisher + n)))
            finisher.is_settled = finisher.has_new_wait = 0;
        finisher.ready = 0;
        look_or_commit(false);
        return true;
    case FinisherStep::commits:
        add(state.ended, bit(n));
        for (std::size_t job = 0; job < jobs_after; ++job)
            if (state.locks[job] == by_finisher + n) {
                add(state.free, bit(job));
                state.locks[job] = 0;
            }
        if (has(setting_.end_prepared, n)) {
            finisher.report = all_waits;
            finisher.step = FinisherStep::reports;
        } else if (rules_.finisher_looks_after_commit) {
            finisher.step = FinisherStep::looks_at_count;
        } else {
            finisher.step =
                finisher.report == nothing ? FinisherStep::is_done : FinisherStep::reports;
        }
        return true;
    case FinisherStep::looks_at_count:
        if (state.count == 0)
            end_look(finisher, n, false);
        else
            finisher.step =
                finisher.later == 0 ? FinisherStep::looks_at_reports : FinisherStep::counts_looks;
        return true;
    case FinisherStep::counts_looks:
        if (!count_own_look(state, n))
            finisher.step = FinisherStep::looks_at_reports;
        return true;
    case FinisherStep::looks_at_reports:
        if (finisher.is_settled != 0 &&
            (rules_.released_end_is_silent || finisher.has_new_wait == 0))
            end_look(finisher, n, false);
        else
            finisher.step = FinisherStep::looks_at_bit;
        return true;
    case FinisherStep::looks_at_bit:
        end_look(finisher, n,
                 has(state.filter, n) || (has(setting_.fail, n) && rules_.failures_are_reported));
        return true;
    case FinisherStep::reports:
        put_report(state, finisher.report);
        finisher.step = FinisherStep::asks;
        return true;
    case FinisherStep::asks:
        state.is_asked = 1;
        finisher.step = FinisherStep::is_done;
        return true;
    case FinisherStep::is_done:
        break;
    }
    return false;
}

// ---- other processes

bool WatchModel::renew(State &state) const
{
    if (state.renewals == setting_.renewals)
        return false;
    const auto clear = [&](Bits job) {
        if (rules_.clearing_subtracts && (state.filter & job) != 0)
            change(state.count, -1);
        remove(state.filter, job);
    };
    switch (rules_.renewal.at(state.renewal_step++)) {
    case Renewal::clear_first:
        clear(bit(0));
        break;
    case Renewal::clear_second:
        clear(bit(1));
        break;
    case Renewal::reset_count:
        state.count = 0;
        break;
    case Renewal::change_generation:
        change_generation(state);
        break;
    case Renewal::tell:
        change(state.calls, 1);
        state.is_asked = 1;
        break;
    case Renewal::end:
        state.renewal_step = 0;
        change(state.renewals, 1);
        break;
    }
    return true;
}

// The key is free once its holder has ended, as long as no process releases the waiting job.
bool WatchModel::take_key(State &state) const
{
    if (!setting_.waits_for_key || state.present != 0b01 || state.ended != 0b01 ||
        state.free != 0 || state.locks[0] != 0)
        return false;
    state.present = setting_.present;
    return true;
}

// Shared memory and all processes are gone. Tables and prepared transactions stay.
bool WatchModel::crash(State &state) const
{
    if (state.crashes == setting_.crashes)
        return false;
    State after = start();
    after.present = state.present;
    after.ended = state.ended;
    after.waiting = state.waiting;
    after.free = state.free;
    after.holder = state.holder;
    for (std::size_t n = 0; n < most_waiters; ++n)
        after.waiters[n].step = state.waiters[n].step == WaiterStep::is_prepared
                                    ? WaiterStep::is_prepared
                                    : WaiterStep::is_done;
    for (std::size_t n = 0; n < jobs_before; ++n)
        if (has(state.ended, n))
            after.finishers[n].step = FinisherStep::is_done;
    after.renewals = state.renewal_step == 0 ? state.renewals : Number(state.renewals + 1);
    after.exits = state.exits;
    after.crashes = Number(state.crashes + 1);
    after.seen = rules_.start_walks ? Number{0} : after.calls;
    state = after;
    return true;
}

// ---- checks

// No process has anything to do. Transactions may not have begun, or be prepared.
bool WatchModel::is_at_rest(const State &state) const
{
    const bool waiters_rest = std::ranges::all_of(state.waiters, [](const WaiterState &waiter) {
        return waiter.step == WaiterStep::begins || waiter.step == WaiterStep::is_prepared ||
               waiter.step == WaiterStep::is_done;
    });
    const bool finishers_rest =
        std::ranges::all_of(state.finishers, [](const FinisherState &finisher) {
            return finisher.step == FinisherStep::begins || finisher.step == FinisherStep::is_done;
        });
    return waiters_rest && finishers_rest && state.renewal_step == 0 && state.is_asked == 0 &&
           state.scheduler.step == SchedulerStep::rests && state.scheduler.locked == 0;
}

const char *WatchModel::fault(const State &state) const
{
    const bool rests = is_at_rest(state);
    for (std::size_t job = 0; job < jobs_after; ++job) {
        if (!has(state.waiting, job))
            continue;
        const bool must_wait = judge(before(state, job), state.ended) == AfterVerdict::wait;
        if (must_wait && has(state.free, job))
            return "a job starts too early";
        if (!must_wait && !has(state.free, job) && rests)
            return "a job waits for ever";
    }
    return nullptr;
}

bool WatchModel::is_end(const State &state) const
{
    return is_at_rest(state);
}

}  // namespace hipq::test
