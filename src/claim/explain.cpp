// Makes a sentence from the result of a condition.
//
// The sentences are in core/limits/sentences.cpp; this file names the facts for their placeholders.
#include "core/limits/rate_text.hpp"
#include "core/limits/sentences.hpp"

#include "catalog/cache.hpp"
#include "claim/conditions.hpp"
#include "core/text/length_text.hpp"
#include "core/workers/health_text.hpp"
#include "pg/clock.hpp"
#include "shared/lanes/holders.hpp"
#include "shared/workers/registered.hpp"

namespace hipq::claim {

namespace {

using core::NamedFact;
using NamedFacts = std::vector<NamedFact>;

constexpr std::size_t most_holders = 10;
constexpr std::size_t most_unable = 3;

// A time in the future, and how far away it is.
std::string time_ahead(pg::Time time, pg::Time now)
{
    return pg::clock_text(time) + ", in " + core::length_text(time.value - now.value);
}

std::string text_of(core::Weight weight)
{
    std::string text = std::to_string(weight / core::weight_unit);
    if (weight % core::weight_unit != 0)
        text.append(".").append(
            std::to_string(core::weight_unit + weight % core::weight_unit).substr(1));
    return text;
}

// "42 (weighs 2), 43 (weighs 1) and 5 more"
std::string names_of(std::span<const lanes::Holder> holders)
{
    std::string names;
    for (const lanes::Holder &holder : holders.first(std::min(holders.size(), most_holders)))
        names.append(names.empty() ? "" : ", ")
            .append(std::to_string(holder.job_id))
            .append(" (weighs ")
            .append(text_of(holder.weight))
            .append(")");
    if (holders.size() > most_holders)
        names.append(" and ").append(std::to_string(holders.size() - most_holders)).append(" more");
    return names;
}

// "used by 2 running job(s): 42 (weighs 2), 43 (weighs 1)"
std::string users_of(const lanes::Usage &usage)
{
    return "used by " + std::to_string(usage.jobs) + " running job(s): " +
           (usage.holders.empty() ? "none that weighs anything" : names_of(usage.holders));
}

// "3 of 5 is used by ..."
std::string text_of(const lanes::Usage &usage, core::Weight limit)
{
    if (usage.jobs == 0)
        return "nothing of " + text_of(limit) + " is used any more";
    return text_of(usage.used) + " of " + text_of(limit) + " is " + users_of(usage);
}

// "3 is used by ..."
std::string text_of(const lanes::Usage &usage)
{
    return usage.jobs == 0 ? "nothing is used" : text_of(usage.used) + " is " + users_of(usage);
}

std::string text_of(const catalog::Pause &pause)
{
    const std::string since = pg::clock_text(pause.since);
    if (pause.crashes.has_value())
        return "is held since " + since + ": its jobs took the server down " +
               std::to_string(*pause.crashes) +
               " times within 10 minutes. It goes on after hipq.resume(), or with a new handler "
               "(hipq.alter_job_type()).";
    const std::string reason = pause.reason == "NONE" ? "" : " (" + pause.reason + ")";
    const std::string paused = "is paused by " + pause.by + " since " + since;
    if (pause.until.has_value())
        return paused + " until " + pg::clock_text(*pause.until) + reason +
               ": it goes on then, or after hipq.resume().";
    return paused + reason + ": it goes on after hipq.resume().";
}

// Empty for a role that is gone.
std::string name_of_role(Oid role)
{
    const char *name = pg::call([&] { return ::GetUserNameFromId(role, true); });
    return name == nullptr ? "" : name;
}

std::string name_of_worker(std::int64_t id)
{
    const auto worker = workers::find_worker(id);
    return worker.has_value() ? worker->name : std::to_string(id);
}

// `"w" drains.` or `"w" has failed 12 times in a row (...); its next trial is at ...`
std::string why_unable(const workers::WorkerSlot &worker, const core::HealthLimits &limits,
                       pg::Time now)
{
    const std::string name = std::string("\"") + worker.name + "\" ";
    if (worker.is_draining)
        return name + "drains.";
    const core::Health health = core::judge(worker.record, limits, now.value);
    if (health != core::Health::unhealthy)
        return name + "is well again.";
    const auto trial = core::next_probe(worker.record, health, limits, now.value);
    const std::string next = !trial.has_value() ? "it gets no trial"
                             : *trial > now.value
                                 ? "its next trial is at " + time_ahead(pg::Time{*trial}, now)
                                 : "its next trial is due";
    return name + core::cause_text(worker.record, limits, now.value) + "; " + next + ".";
}

std::string why_unable(std::span<const std::int64_t> ids)
{
    const core::HealthLimits limits = workers::health_limits();
    const pg::Time now = pg::now();
    std::string text;
    for (const std::int64_t id : ids.first(std::min(ids.size(), most_unable)))
        if (const auto worker = workers::find_worker(id))
            text.append(text.empty() ? "" : " ").append(why_unable(*worker, limits, now));
    if (ids.size() > most_unable)
        text.append(" ")
            .append(std::to_string(ids.size() - most_unable))
            .append(" more are in hipq.workers_detail.");
    return text;
}

// ---- the facts, by the names of the placeholders in the sentences ----

NamedFacts named(std::monostate)
{
    return {{"version", HIPQ_VERSION}};
}

NamedFacts named(const std::string &text)
{
    return {{"version", HIPQ_VERSION}, {"text", text}};
}

NamedFacts named(std::int64_t number)
{
    return {{"count", std::to_string(number)}, {"length", core::length_text(number)}};
}

NamedFacts named(core::JobState state)
{
    return {{"state", std::string(core::name(state))}};
}

NamedFacts named(const catalog::Queue *queue)
{
    return {{"queue", queue->full_name()},
            {"instance", queue->instance},
            {"node", std::to_string(queue->shards != nullptr ? queue->shards->own_node : 0)},
            {"owner", name_of_role(queue->owner)},
            {"subscription", queue->hold.has_value() ? queue->hold->subscription : ""}};
}

NamedFacts named(const PauseFacts &facts)
{
    return {{"instance", facts.queue->instance},
            {"queue", facts.queue->full_name()},
            {"name", std::string(facts.name)},
            {"pause", text_of(*facts.pause)}};
}

NamedFacts named(const HandlerFacts &facts)
{
    return {{"type", std::string(facts.job_type)},
            {"handler", std::string(facts.handler)},
            {"problem", facts.problem}};
}

NamedFacts named(const WaitFacts &facts)
{
    std::string jobs;
    for (std::size_t i = 0; i < std::min(facts.jobs.size(), most_holders); ++i)
        jobs.append(jobs.empty() ? "" : ", ").append(std::to_string(facts.jobs[i]));
    if (facts.jobs.size() > most_holders)
        jobs.append(" and ")
            .append(std::to_string(facts.jobs.size() - most_holders))
            .append(" more");
    return {{"jobs", jobs},
            {"id", std::to_string(facts.batch_id)},
            {"text", facts.batch},
            {"rule", std::string(rule_text(facts.policy, facts.on_failure))}};
}

NamedFacts named(const FollowerFacts &facts)
{
    return {{"id", std::to_string(facts.holder)}};
}

NamedFacts named(const TimeFacts &facts)
{
    return {{"time", time_ahead(facts.time, facts.now)}};
}

NamedFacts named(const WindowFacts &facts)
{
    const StartWindow &window = facts.window;
    NamedFacts named{{"windows", "\"" + facts.windows + "\" (" + facts.time_zone + ")"}};
    if (window.problem != nullptr)
        named.emplace_back("problem", window.problem);
    else if (!window.is_open(facts.now))
        named.emplace_back("opening", time_ahead(window.from, facts.now));
    else if (window.until != pg::infinity)
        named.emplace_back("closing", pg::clock_text(window.until));
    return named;
}

NamedFacts named(const ThrottleFacts &facts)
{
    return {{"usage", text_of(facts.usage, facts.limit)},
            {"used", text_of(facts.usage.used)},
            {"limit", text_of(facts.limit)},
            {"weight", text_of(facts.weight)},
            {"key", facts.key},
            {"share", text_of(facts.share.has_value() ? facts.share->share : facts.limit)},
            {"running", text_of(facts.usage)}};
}

NamedFacts named(const RateFacts &facts)
{
    return {{"rate", core::canonical(facts.rate)},
            {"used", text_of(facts.used)},
            {"weight", text_of(facts.weight)},
            {"time", time_ahead(facts.turn, facts.now)}};
}

NamedFacts named(const BreakerFacts &facts)
{
    const bool is_timed = facts.until != pg::infinity;
    return {{"since", pg::clock_text(facts.since)},
            {"until", is_timed ? time_ahead(facts.until, facts.now) : "hipq.close_breaker()"},
            {"cause", facts.cause},
            {"then", is_timed && facts.has_rule ? "; then one job tries" : ""}};
}

NamedFacts named(const ExecutorFacts &facts)
{
    return {{"own", std::to_string(facts.own)},
            {"idle", std::to_string(facts.idle)},
            {"next try", core::length_text(facts.next_try)}};
}

NamedFacts named(const ServiceFacts &facts)
{
    return {{"type", std::string(facts.job_type)},
            {"present", std::to_string(facts.present)},
            {"worker", name_of_worker(facts.next_id)},
            {"unable", why_unable(facts.unable)}};
}

NamedFacts named(const OfferFacts &facts)
{
    return {{"worker", name_of_worker(facts.worker_id)},
            {"time", time_ahead(facts.until, facts.now)}};
}

NamedFacts named(const AimFacts &facts)
{
    return {{"type", std::string(facts.job_type)},
            {"worker", name_meant_by(facts.aim.worker)},
            {"unable", why_unable(facts.unable)},
            {"end", "If it is not given the job by " + pg::clock_text(facts.aim.ends) +
                        " the attempt has failed (queue_timeout)."}};
}

}  // namespace

std::string explain(const Condition &condition)
{
    const NamedFacts facts =
        std::visit([](const auto &known) { return named(known); }, condition.facts());
    return core::with_facts(core::sentence(condition.finding()), facts);
}

}  // namespace hipq::claim
