// Holds the sentences of findings, and fills in their facts.
#include "core/limits/sentences.hpp"

#include <algorithm>

namespace hipq::core {

namespace {

struct Sentence {
    Finding finding;
    std::string_view text;
};

// In the order of Finding.
constexpr std::array<Sentence, all_findings.size()> sentences{{
    {Finding::job_exists, "The job is in queue \"{queue}\"."},
    {Finding::job_waits, "The job waits (state {state})."},
    {Finding::job_runs, "The job runs."},
    {Finding::retry_is_decided, "The job failed; its retry handler is being asked."},
    {Finding::job_is_final, "The job is final."},
    {Finding::job_is_set_aside,
     "What became of it cannot be written down, it is left alone: {text}. When the cause is gone "
     "hipq.fail_job() or hipq.cancel() ends it, and hipq.retry() runs it again."},
    {Finding::waits_for_jobs, "It comes after jobs that have not ended: {jobs}. {rule}"},
    {Finding::waits_for_batch, "It comes after batch {id}, {text}. {rule}"},
    {Finding::waits_for_key, "Job {id} has its key: it starts when that one has ended."},
    {Finding::waits_for_look,
     "What it waited for is over: it starts when the scheduler has looked at it."},
    {Finding::time_has_come, "Its time has come."},
    {Finding::time_is_ahead, "It waits for its time, {time}."},
    {Finding::window_is_unclear, "Its time windows are {windows}: {problem}."},
    {Finding::window_is_closed,
     "It waits for its time windows {windows}, which open at {opening}."},
    {Finding::window_is_open, "Its time windows {windows} are open until {closing}."},
    {Finding::window_never_closes, "Its time windows {windows} are always open."},
    {Finding::never_expires, "It does not expire."},
    {Finding::expires_later, "It expires at {time}."},
    {Finding::has_expired, "It has expired and will be ended."},
    {Finding::library_is_loaded, "hipq is loaded by shared_preload_libraries."},
    {Finding::server_is_standby,
     "The server is a standby: jobs run in its primary, and here after a promotion."},
    {Finding::library_is_not_loaded,
     "hipq is not in shared_preload_libraries: add it and restart the server."},
    {Finding::versions_agree, "Library and extension are version {version}."},
    {Finding::versions_work_together,
     "The extension is version {text}, the library {version}; jobs go on. Run ALTER EXTENSION hipq "
     "UPDATE, or restart the server, to have both of one version."},
    {Finding::versions_differ, "The extension is version {text}, the library {version}: run ALTER "
                               "EXTENSION hipq UPDATE, or restart the server."},
    {Finding::is_enabled, "hipq is enabled for this database."},
    {Finding::is_disabled, "hipq.enabled is off."},
    {Finding::database_is_not_listed, "hipq.databases does not list this database."},
    {Finding::jobs_belong_here, "The jobs belong to this database."},
    {Finding::database_is_copy, "The database or its server is a copy, or was restored: it stands "
                                "still until hipq.release_hold()."},
    {Finding::queue_is_no_replica, "Queue \"{queue}\" is no replica."},
    {Finding::queue_is_fed, "Queue \"{queue}\" is a replica: its jobs come by subscription "
                            "\"{subscription}\" and run where they come from."},
    {Finding::queue_was_fed,
     "Queue \"{queue}\" is a replica: its jobs came by subscription \"{subscription}\". It stands "
     "still until hipq.release_hold('{queue}')."},
    {Finding::node_is_out_of_step,
     "This server, node {node} of instance \"{instance}\", was promoted or restored, and may lack "
     "what it has sent and received. It stands still until CALL hipq.resync_shard('{instance}', "
     "{node}) on the router."},
    {Finding::queue_is_open, "Queue \"{queue}\" is open."},
    {Finding::queue_is_dropped, "Queue \"{queue}\" is being dropped."},
    {Finding::nothing_is_paused, "Nothing of it is paused."},
    {Finding::instance_is_paused, "Instance \"{instance}\" {pause}"},
    {Finding::queue_is_paused, "Queue \"{queue}\" {pause}"},
    {Finding::type_is_paused, "Job type \"{name}\" {pause}"},
    {Finding::key_is_paused, "Throttle key \"{name}\" {pause}"},
    {Finding::owner_may_connect, "Queue owner \"{owner}\" may connect."},
    {Finding::owner_is_gone,
     "The queue owner does not exist any more: use hipq.alter_queue(owner => ...)."},
    {Finding::owner_may_not_log_in,
     "Queue owner \"{owner}\" may not log in: ALTER ROLE {owner} LOGIN."},
    {Finding::owner_may_not_connect, "Queue owner \"{owner}\" lacks CONNECT on this database."},
    {Finding::handler_can_run, "Handler: {handler}."},
    {Finding::workers_run_type, "External workers run jobs of type \"{type}\"."},
    {Finding::type_is_not_registered, "Job type \"{type}\" is not registered yet."},
    {Finding::type_has_no_handler,
     "Job type \"{type}\" has no handler: use hipq.alter_job_type(handler => ...)."},
    {Finding::handler_cannot_run, "The handler cannot run: {problem}."},
    {Finding::is_no_suspect, "It is not suspected of having crashed the server."},
    {Finding::suspect_may_run,
     "It may have crashed the server: such jobs run one at a time, and none runs now."},
    {Finding::suspect_pauses,
     "It may have crashed the server: such jobs pause after a crash, for {length} more."},
    {Finding::suspect_waits, "It may have crashed the server: such jobs run one at a time, and "
                             "another one's turn has come."},
    {Finding::nobody_awaits_capacity, "Nobody waits for capacity."},
    {Finding::queue_capacity_is_awaited, "A job of the queue waits for capacity."},
    {Finding::type_capacity_is_awaited, "A job of the type waits for capacity."},
    {Finding::queue_limit_is_reached,
     "The queue's throttle_limit is reached: {usage}; it weighs {weight}."},
    {Finding::queue_share_is_used, "This server's share of the queue's throttle_limit is {share} "
                                   "of {limit} now, and {running}; it "
                                   "weighs {weight}."},
    {Finding::queue_limit_is_awaited,
     "A job before it waits for capacity under the queue's throttle_limit: {usage}."},
    {Finding::queue_has_no_limit, "There is no limit."},
    {Finding::queue_has_capacity,
     "There is capacity under the queue's throttle_limit: {used} of {limit} is used."},
    {Finding::type_limit_is_reached,
     "The job type's throttle_limit is reached: {usage}; it weighs {weight}."},
    {Finding::type_share_is_used, "This server's share of the job type's throttle_limit is {share} "
                                  "of {limit} now, and {running}; it "
                                  "weighs {weight}."},
    {Finding::type_limit_is_awaited,
     "A job before it waits for capacity under the job type's throttle_limit: {usage}."},
    {Finding::type_has_no_limit, "There is no limit."},
    {Finding::type_has_capacity,
     "There is capacity under the job type's throttle_limit: {used} of {limit} is used."},
    {Finding::key_limit_is_reached,
     "The throttle_limit_per_key of \"{key}\" is reached: {usage}; it weighs {weight}."},
    {Finding::key_share_is_used, "This server's share of the throttle_limit_per_key of \"{key}\" "
                                 "is {share} of {limit} now, and "
                                 "{running}; it weighs {weight}."},
    {Finding::key_limit_is_awaited,
     "A job before it waits for capacity under the throttle_limit_per_key of \"{key}\": {usage}."},
    {Finding::key_has_no_limit, "There is no limit."},
    {Finding::key_has_capacity,
     "There is capacity under the throttle_limit_per_key of \"{key}\": {used} of {limit} is used."},
    {Finding::job_has_no_key, "It has no throttle key."},
    {Finding::queue_rate_is_used,
     "The queue's rate_limit of {rate} is used up: {used} of it counts, "
     "and it weighs {weight}. Its turn can come at {time}."},
    {Finding::queue_rate_has_turn,
     "The queue's rate_limit of {rate} has a turn: {used} of it counts."},
    {Finding::type_rate_is_used, "The job type's rate_limit of {rate} is used up: {used} of it "
                                 "counts, and it weighs {weight}. Its turn can come at {time}."},
    {Finding::type_rate_has_turn,
     "The job type's rate_limit of {rate} has a turn: {used} of it counts."},
    {Finding::key_rate_is_used,
     "The rate_limit_per_key of {rate} is used up for its throttle key: {used} of it counts, and "
     "it weighs {weight}. Its turn can come at {time}."},
    {Finding::key_rate_has_turn,
     "The rate_limit_per_key of {rate} has a turn for its throttle key: {used} of it counts."},
    {Finding::breaker_is_open,
     "The breaker of the job type is open since {since} until {until}: {cause}{then}."},
    {Finding::breaker_is_tried, "The breaker of the job type is half open: a job tries, and the "
                                "others wait for its end."},
    {Finding::breaker_lets_one_try,
     "The breaker of the job type is half open: the next job tries."},
    {Finding::breaker_is_closed, "The breaker of the job type is closed."},
    {Finding::executor_is_idle,
     "{own} executor(s) work for the queue owner, {idle} of them without a job."},
    {Finding::executor_is_starting, "An executor is starting."},
    {Finding::executor_will_start, "An executor will be started."},
    {Finding::executor_gives_way,
     "An executor will be started in place of one that has nothing to do."},
    {Finding::no_executor, "No executor works for the queue owner."},
    {Finding::executors_are_off, "hipq.max_executors is 0."},
    {Finding::executor_failed_to_start,
     "The last executor of the queue owner failed to start; the next one is tried in {next try}. "
     "The server's log says why."},
    {Finding::sessions_are_read_only,
     "Transactions of the queue owner begin read-only here, and a job failed for that. They "
     "may write again when default_transaction_read_only is off for server, database and role."},
    {Finding::no_process_is_free, "No background worker slot is free: raise max_worker_processes."},
    {Finding::rest_is_reserved,
     "{own} executor(s) work for the queue owner and all have a job; what is left of "
     "hipq.max_executors is kept for queue owners that have none (hipq.reserved_executors)."},
    {Finding::executors_are_elsewhere,
     "No executor works for the queue owner and hipq.max_executors are busy elsewhere."},
    {Finding::executors_are_busy, "{own} executor(s) work for the queue owner and all have a job; "
                                  "hipq.max_executors allows no more."},
    {Finding::worker_gets_next,
     "{present} external worker(s) serve job type \"{type}\"; \"{worker}\" gets the next job."},
    {Finding::no_worker_serves,
     "No external worker serves job type \"{type}\": programs that do, and are capable of what it "
     "requires, register with hipq.register_worker()."},
    {Finding::no_worker_is_able, "{present} external worker(s) serve job type \"{type}\", but all "
                                 "of them drain or are unhealthy. {unable}"},
    {Finding::roles_have_their_share,
     "{present} external worker(s) serve job type \"{type}\", but their role has the share of "
     "hipq.max_running that is for it: it gets more when jobs have ended."},
    {Finding::workers_are_full, "{present} external worker(s) serve job type \"{type}\", and have "
                                "as many jobs as they take at a time."},
    {Finding::worker_is_offered,
     "It is offered to external worker \"{worker}\", which may accept it with hipq.claim() until "
     "{time}."},
    {Finding::own_worker_gets_next, "It is for external worker \"{worker}\", which gets it next."},
    {Finding::own_worker_serves_not,
     "It is for external worker \"{worker}\", which does not serve job type \"{type}\" now. {end}"},
    {Finding::own_worker_has_share, "It is for external worker \"{worker}\", whose role has the "
                                    "share of hipq.max_running that is for it. {end}"},
    {Finding::own_worker_is_unable,
     "It is for external worker \"{worker}\", which drains or is unhealthy. {unable} {end}"},
    {Finding::own_worker_is_full, "It is for external worker \"{worker}\", which has as many jobs "
                                  "as it takes at a time. {end}"},
    {Finding::enters_lane_when_due, "It takes its place in its lane when its time has come."},
    {Finding::there_is_no_lane, "There is no lane."},
    {Finding::is_first_in_lane, "No job of its queue that may start stands before it."},
    {Finding::others_are_before, "{count} job(s) of its queue that are due stand before it."},
    {Finding::many_are_before,
     "More than {count} job(s) of its queue that are due stand before it."},
    {Finding::others_have_their_turn, "They wait for their turn."},
}};

constexpr bool are_in_order()
{
    for (std::size_t i = 0; i < sentences.size(); ++i)
        if (sentences[i].finding != static_cast<Finding>(i))
            return false;
    return true;
}
static_assert(are_in_order());

// `place`: the placeholder, with its braces.
std::string_view fact_at(std::string_view place, std::span<const NamedFact> facts)
{
    const std::string_view name = place.substr(1, place.size() - 2);
    const auto fact = std::find_if(facts.begin(), facts.end(),
                                   [&](const NamedFact &known) { return known.first == name; });
    return fact == facts.end() ? place : std::string_view(fact->second);
}

}  // namespace

std::string_view sentence(Finding finding)
{
    return sentences[static_cast<std::size_t>(finding)].text;
}

std::string with_facts(std::string_view sentence, std::span<const NamedFact> facts)
{
    std::string text;
    while (!sentence.empty()) {
        const std::size_t open = sentence.find('{');
        const std::size_t close = sentence.find('}', open);
        if (close == std::string_view::npos)
            return text.append(sentence);
        text.append(sentence.substr(0, open))
            .append(fact_at(sentence.substr(open, close + 1 - open), facts));
        sentence.remove_prefix(close + 1);
    }
    return text;
}

}  // namespace hipq::core
