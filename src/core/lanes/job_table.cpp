// Implements the table as a chained hash table with a list of free entries.
#include "core/lanes/job_table.hpp"

namespace hipq::core {

namespace {

// The finalizer of splitmix64. Ids are handed out in order, and neighbours should not share a
// bucket.
std::uint64_t mixed(std::uint64_t value)
{
    value ^= value >> 30;
    value *= 0xbf58476d1ce4e5b9U;
    value ^= value >> 27;
    value *= 0x94d049bb133111ebU;
    return value ^ (value >> 31);
}

// The limiters of the queue, the type and the key. A job without a key has no limiter for it.
std::array<LimiterName, limiters_per_job> limiter_names(const JobEntry &job, const Load &load)
{
    return {{{job.database, job.queue_id, 0, 0},
             {job.database, job.queue_id, load.type, 0},
             {job.database, job.queue_id, load.type, load.key}}};
}

}  // namespace

std::int32_t &JobTable::bucket_of(std::uint32_t database, std::int64_t job_id) const
{
    const std::uint64_t hash =
        mixed(static_cast<std::uint64_t>(job_id) + (std::uint64_t{database} << 32));
    return buckets_[hash % buckets_.size()];
}

void JobTable::clear(std::int64_t now)
{
    limiters_.clear();
    rates_.clear(now);
    key_rates_.clear(now);
    breakers_.clear();
    head_->used = 0;
    head_->freed = FreedCapacity{};
    head_->free = entries_.empty() ? no_entry : 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        entries_[i] = JobEntry{};
        entries_[i].next = i + 1 < entries_.size() ? static_cast<std::int32_t>(i + 1) : no_entry;
    }
    for (std::int32_t &bucket : buckets_)
        bucket = no_entry;
    for (HolderList &list : holders_)
        list = {no_entry, no_entry, 0};
}

std::int32_t JobTable::find(std::uint32_t database, std::int64_t job_id) const
{
    for (std::int32_t entry = bucket_of(database, job_id); entry != no_entry;
         entry = at(entry).next)
        if (at(entry).job_id == job_id && at(entry).database == database)
            return entry;
    return no_entry;
}

std::int32_t JobTable::insert(const JobEntry &job)
{
    if (head_->free == no_entry || find(job.database, job.job_id) != no_entry)
        return no_entry;
    const std::int32_t entry = head_->free;
    head_->free = at(entry).next;
    ++head_->used;
    JobEntry &fresh = (*this)[entry];
    fresh = job;
    fresh.serial = ++head_->last_serial;
    std::int32_t &bucket = bucket_of(job.database, job.job_id);
    fresh.next = bucket;
    bucket = entry;
    link_to_holder(entry, job.holder);
    return entry;
}

void JobTable::link_to_holder(std::int32_t entry, std::int32_t holder)
{
    JobEntry &job = (*this)[entry];
    HolderList &list = holders_[static_cast<std::size_t>(holder)];
    job.holder = holder;
    job.is_cancelled = false;
    job.next_of_holder = list.first;
    job.previous_of_holder = no_entry;
    if (list.first != no_entry)
        (*this)[list.first].previous_of_holder = entry;
    else
        list.last = entry;
    list.first = entry;
    ++list.count;
}

void JobTable::link_to_end(std::int32_t entry, std::int32_t holder)
{
    JobEntry &job = (*this)[entry];
    HolderList &list = holders_[static_cast<std::size_t>(holder)];
    if (list.last == no_entry)
        return link_to_holder(entry, holder);
    job.holder = holder;
    job.next_of_holder = no_entry;
    job.previous_of_holder = list.last;
    (*this)[list.last].next_of_holder = entry;
    list.last = entry;
    ++list.count;
}

void JobTable::unlink_from_holder(const JobEntry &job)
{
    HolderList &list = holders_[static_cast<std::size_t>(job.holder)];
    --list.count;
    if (job.previous_of_holder != no_entry)
        (*this)[job.previous_of_holder].next_of_holder = job.next_of_holder;
    else
        list.first = job.next_of_holder;
    if (job.next_of_holder != no_entry)
        (*this)[job.next_of_holder].previous_of_holder = job.previous_of_holder;
    else
        list.last = job.previous_of_holder;
}

void JobTable::hand_over(std::int32_t entry, std::int32_t holder)
{
    unlink_from_holder(at(entry));
    link_to_holder(entry, holder);
}

void JobTable::hand_back(std::int32_t entry, std::int32_t holder)
{
    unlink_from_holder(at(entry));
    link_to_end(entry, holder);
}

void JobTable::erase(std::int32_t entry)
{
    JobEntry &gone = (*this)[entry];
    std::int32_t *link = &bucket_of(gone.database, gone.job_id);
    while (*link != entry)
        link = &(*this)[*link].next;
    *link = gone.next;
    unlink_from_holder(gone);
    lift(gone);
    give_back_rates(gone);
    leave_breaker(gone);
    gone = JobEntry{};
    gone.next = head_->free;
    head_->free = entry;
    --head_->used;
}

// Returns which of the rates does not admit the job now; Capacity::taken: all do.
Capacity JobTable::find_rates(const JobEntry &job, const Load &load, const StartRates &rates,
                              std::int64_t now, RateNumbers &found)
{
    const std::array<std::pair<LimiterName, const Rate *>, rates_per_job> wanted{
        {{{job.database, job.queue_id, 0, 0}, &rates.queue},
         {{job.database, job.queue_id, load.type, 0}, &rates.type},
         {{job.database, job.queue_id, load.type, load.key}, &rates.key}}};
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const auto &[name, rate] = wanted[i];
        found[i] = no_rate;
        if (!rate->is_set() || load.weight == 0 || (i == of_key && load.key == 0))
            continue;
        const Capacity refused = i == of_key ? Capacity::key_rate_used : Capacity::rate_used;
        RateTable &table = rates_at(i);
        found[i] = table.find_or_make({name, rates.owner, *rate}, rates.owner_share, now);
        if (found[i] == no_rate)
            return refused;
        const RateTable::Answer answer = table.ask(found[i], *rate, load.weight, now);
        if (answer.turn > now || answer.needs_lease) {
            table.note_refused(found[i], load.weight);
            return refused;
        }
    }
    return Capacity::taken;
}

void JobTable::give_back_rates(JobEntry &job)
{
    if (!job.is_rated || job.is_started)
        return;
    for (std::size_t i = 0; i < job.rates.size(); ++i) {
        const std::int32_t rate = job.rates[i];
        if (rate == no_rate || !rates_at(i).give_back(rate, job.rated_weight))
            continue;
        head_->freed.any = true;
        if (i == of_key)
            note_capacity(key_rates_[rate].name);
    }
}

// Returns false if the breaker of the type does not admit the job now.
bool JobTable::find_breaker(const JobEntry &job, const Load &load, const StartBreaker &wanted,
                            std::int64_t now, std::int32_t &found)
{
    found = no_breaker;
    if (!wanted.any())
        return true;
    found = breakers_.find_or_make({job.database, job.queue_id, load.type, 0}, wanted, now);
    return found != no_breaker && breakers_.ask(found, wanted.rule, now) != Breaker::Answer::none;
}

void JobTable::leave_breaker(JobEntry &job)
{
    if (std::exchange(job.has_breaker, false) &&
        breakers_.give_back(job.breaker, job.breaker_generation))
        head_->freed.any = true;
}

bool JobTable::conclude(std::int32_t entry, bool has_failed, std::int64_t now)
{
    JobEntry &job = (*this)[entry];
    if (!std::exchange(job.has_breaker, false))
        return false;
    const std::int64_t before = breakers_[job.breaker].change;
    if (breakers_.end(job.breaker, job.breaker_generation, has_failed, now))
        head_->freed.any = true;
    return breakers_[job.breaker].change != before;
}

void JobTable::order(std::int32_t breaker, const BreakerOrder &order, std::int64_t now)
{
    if (breakers_.order(breaker, order, now))
        head_->freed.any = true;
}

void JobTable::start(std::int32_t entry, std::int64_t now, bool is_first_call)
{
    JobEntry &job = (*this)[entry];
    if (!job.is_rated || std::exchange(job.is_started, true))
        return;
    for (std::size_t i = 0; i < job.rates.size(); ++i)
        if (job.rates[i] != no_rate)
            rates_at(i).start(job.rates[i], job.rated_weight, now, is_first_call);
}

bool JobTable::admit_again(std::int32_t entry, std::int64_t now)
{
    JobEntry &job = (*this)[entry];
    if (job.has_breaker && !breakers_.is_current(job.breaker, job.breaker_generation))
        return false;
    if (!job.is_rated || !job.is_started)
        return true;
    for (std::size_t i = 0; i < job.rates.size(); ++i)
        if (const std::int32_t rate = job.rates[i]; rate != no_rate) {
            const RateTable::Answer answer =
                rates_at(i).ask(rate, rates_at(i)[rate].rate, job.rated_weight, now);
            if (answer.turn > now || answer.needs_lease)
                return false;
        }
    for (std::size_t i = 0; i < job.rates.size(); ++i)
        if (const std::int32_t rate = job.rates[i]; rate != no_rate)
            rates_at(i).admit(rate, rates_at(i)[rate].rate, job.rated_weight);
    job.is_started = false;
    return true;
}

Admission JobTable::admission_of(std::int32_t entry) const
{
    const JobEntry &job = at(entry);
    const bool by_breaker =
        job.has_breaker && breakers_.is_current(job.breaker, job.breaker_generation);
    if (job.is_weighed && job.weight == 0)
        return {true, true, true, by_breaker};
    const auto is_by = [&](std::size_t i) { return job.is_rated && job.rates[i] != no_rate; };
    return {is_by(0), is_by(1), is_by(of_key), by_breaker};
}

Capacity JobTable::take_capacity(std::int32_t entry, const Load &load, const WeightLimits &limits,
                                 std::int64_t now)
{
    JobEntry &job = (*this)[entry];
    if (job.is_weighed)
        return Capacity::taken;
    std::int32_t breaker = no_breaker;
    if (!find_breaker(job, load, limits.breaker, now, breaker))
        return Capacity::breaker_open;
    RateNumbers rates{};
    if (limits.rates.any()) {
        const Capacity refused = find_rates(job, load, limits.rates, now, rates);
        if (refused != Capacity::taken)
            return refused;
    }
    const auto names = limiter_names(job, load);
    if (!limiters_.admits(names[0], load.weight, limits.queue, limits.is_shared))
        return Capacity::queue_full;
    if (!limiters_.admits(names[1], load.weight, limits.type, limits.is_shared))
        return Capacity::type_full;
    if (load.key != 0 && !limiters_.admits(names[2], load.weight, limits.key, limits.is_shared))
        return Capacity::key_full;
    weigh(entry, load);
    if (breaker != no_breaker) {
        job.has_breaker = true;
        job.breaker = breaker;
        job.breaker_generation = breakers_.admit(breaker, limits.breaker.rule, now);
    }
    if (!limits.rates.any())
        return Capacity::taken;
    job.is_rated = true;
    job.is_started = false;
    job.rated_weight = load.weight;
    job.rates = rates;
    const std::array<const Rate *, rates_per_job> used{&limits.rates.queue, &limits.rates.type,
                                                       &limits.rates.key};
    for (std::size_t i = 0; i < rates.size(); ++i)
        if (rates[i] != no_rate)
            rates_at(i).admit(rates[i], *used[i], load.weight);
    return Capacity::taken;
}

void JobTable::weigh(std::int32_t entry, const Load &load)
{
    if (weighs(entry, load))
        return;
    JobEntry &job = (*this)[entry];
    const auto names = limiter_names(job, load);
    if (job.is_weighed)
        lift(job);
    for (std::size_t i = 0; i < names.size(); ++i)
        job.limiters[i] =
            i == 2 && load.key == 0 ? no_limiter : limiters_.enter(names[i], load.weight);
    job.weight = load.weight;
    job.is_weighed = true;
}

bool JobTable::weighs(std::int32_t entry, const Load &load) const
{
    const JobEntry &job = at(entry);
    return job.is_weighed && job.weight == load.weight && key_of(entry) == load.key;
}

std::uint64_t JobTable::key_of(std::int32_t entry) const
{
    const JobEntry &job = at(entry);
    const std::int32_t limiter = job.is_weighed ? job.limiters[2] : no_limiter;
    return limiter == no_limiter ? 0 : limiters_[limiter].name.key;
}

void JobTable::lift(JobEntry &job)
{
    if (!job.is_weighed)
        return;
    for (const std::int32_t limiter : job.limiters) {
        if (limiter == no_limiter)
            continue;
        const LimiterName name = limiters_[limiter].name;
        if (limiters_.leave(limiter, job.weight))
            note_capacity(name);
    }
    job.is_weighed = false;
}

void JobTable::note_capacity(const LimiterName &name)
{
    FreedCapacity &made = head_->freed;
    made.any = true;
    if (name.key == 0)
        return;
    if (made.key_count < FreedCapacity::most_keys)
        made.keys[made.key_count] = name;
    made.key_count = std::min<std::uint32_t>(made.key_count + 1, FreedCapacity::most_keys + 1);
}

}  // namespace hipq::core
