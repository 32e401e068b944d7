// Runs for another node a function that was called there.
//
// It runs with the rights of the caller's role, found by name, as in a function with SECURITY
// DEFINER: users' code does not get the rights of the session, which are those of a superuser.
#include "nodes/answer.hpp"

#include "catalog/cache.hpp"
#include "job/dead_letter_rows.hpp"
#include "job/find_job.hpp"
#include "nodes/nodes.hpp"
#include "pg/arguments.hpp"
#include "pg/subtransaction.hpp"
#include "pg/transaction.hpp"

namespace hipq::nodes {

namespace {

struct Known {
    const char *function;
    std::size_t arguments;  // number of arguments after the id
    const char *sql;        // $1: the id
};

constexpr Known known_functions[] = {
    {"cancel", 2, "SELECT to_jsonb(hipq.cancel($1, $2, $3))::text"},
    {"retry", 3, "SELECT to_jsonb(hipq.retry($1, $2, $3::jsonb, $4))::text"},
    {"retry", 4, "SELECT to_jsonb(hipq.retry($1, $2, $3::jsonb, $5, $4::integer))::text"},
    {"reschedule", 3,
     "SELECT to_jsonb(hipq.reschedule($1, $2::timestamptz, $3::integer, $4)::text)::text"},
    {"wait_for", 2,
     "SELECT to_jsonb(waited)::text FROM hipq.wait_for($1, $2::hipq.duration, $3) AS waited"},
    {"why", 1,
     "SELECT jsonb_agg(to_jsonb(line) ORDER BY line.ordinality)::text FROM hipq.why($1, $2) WITH "
     "ORDINALITY AS line"},
    {"erase", 1, "SELECT to_jsonb(hipq.erase($1, $2))::text"},
    {"fail_job", 2, "SELECT hipq.fail_job($1, $2, $3)"},
    {"why_retriable", 1,
     "SELECT answer.retriable::text || ' ' || answer.reason FROM hipq.why_retriable($1, $2) AS "
     "answer"},
    {"extend_job", 2,
     "SELECT coalesce((extract(epoch FROM hipq.extend_job($1, $2::hipq.duration, $3)) * 1000000)"
     "::bigint::text, 'infinity')"},
    {"find_job", 1, "SELECT to_jsonb(found)::text FROM hipq.find_job($1, $2) AS found"},
    {"redrive", 1, "SELECT to_jsonb(hipq.redrive($1, $2))::text"},
    {"handle_again", 0, "SELECT to_jsonb(hipq.handle_again($1)::text)::text"},
    {"dismiss_dead_letter", 0, "SELECT to_jsonb(hipq.dismiss_dead_letter($1)::text)::text"},
    {"purge_dead_letter", 0, "SELECT to_jsonb(hipq.purge_dead_letter($1)::text)::text"},
    // For a node that must know where a job is before it runs anything.
    {"has_job", 1, nullptr},
    {"has_dead_letter", 0, nullptr},
};

const Known &require_known(const Call &call)
{
    for (const Known &known : known_functions)
        if (known.function == call.function && known.arguments == call.arguments.size())
            return known;
    HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
               errmsg("another node has called \"%s\", which this release of hipq does not know",
                      call.function.c_str()),
               errhint("Update hipq here."));
}

bool is_here(const catalog::Catalogue &catalogue, const Call &call)
{
    return call.is_about_letter
               ? job::find_queue_of_letter(catalogue, call.id) != nullptr
               : job::find_job(catalogue, call.id, call.arguments.front()).has_value();
}

std::optional<std::string> tell_whether_here(const Call &call)
{
    const auto catalogue = catalog::catalogue();
    const bool is_found =
        is_here(*catalogue, call) || search(*catalogue, call).place == Place::elsewhere;
    return is_found ? std::optional<std::string>("true") : std::nullopt;
}

// The queue is the last argument of calls about a job.
const catalog::Queue *find_queue(const catalog::Catalogue &catalogue, const Call &call)
{
    if (call.is_about_letter)
        return job::find_queue_of_letter(catalogue, call.id);
    const auto job = job::find_job(catalogue, call.id, call.arguments.back());
    return job.has_value() ? job->queue : nullptr;
}

// A node may call only for jobs of its own instance.
bool is_of_other_instance(const Call &call, std::string_view instance)
{
    const auto catalogue = catalog::catalogue();
    const catalog::Queue *queue = find_queue(*catalogue, call);
    return queue != nullptr && queue->instance != instance;
}

std::optional<std::string> run(const Known &known, const Call &call, std::string_view instance)
{
    if (is_of_other_instance(call, instance)) {
        note_missing();
        return std::nullopt;
    }
    if (known.sql == nullptr)
        return tell_whether_here(call);
    std::vector<pg::Parameter> parameters{pg::Parameter(call.id)};
    for (const std::optional<std::string> &argument : call.arguments)
        parameters.emplace_back(argument);
    const pg::Rows rows = pg::execute_once(known.sql, parameters);
    return rows.empty() ? std::nullopt : rows.front().maybe_text(0);
}

void demand_neighbour(const std::string &instance, int asker)
{
    if (node_beside(instance, asker).has_value())
        return;
    HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
               errmsg("this server answers no node %d of instance \"%s\"", asker, instance.c_str()),
               errhint("A router answers its shards, a shard its router."));
}

// A superuser has more than the rights on a queue, so the connection must be that of a superuser,
// too.
void demand_no_more_than_own(Oid role, const std::string &name)
{
    if (pg::call([&] { return !::superuser_arg(role) || ::superuser_arg(::GetSessionUserId()); }))
        return;
    HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
               errmsg("role \"%s\" is a superuser here", name.c_str()),
               errdetail("The connection by which another node has called is not a superuser's."));
}

Oid require_role(const std::string &name)
{
    const Oid role = pg::call([&] { return ::get_role_oid(name.c_str(), true); });
    if (!OidIsValid(role))
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
                   errmsg("role \"%s\" does not exist", name.c_str()),
                   errdetail("A call by id has the rights of the caller's role on the server that "
                             "has the job."),
                   errhint("Create the role there, and give it its rights on the queue."));
    return role;
}

// Returns nothing if there is no such job here.
std::optional<std::optional<std::string>> ask_once(const Known &known, const Call &call, Oid role,
                                                   Asker asker, std::string_view instance)
{
    const BeingAsked being_asked(asker, instance);
    std::optional<std::string> answer;
    const auto failure = pg::in_subtransaction(pg::Ending::kept, [&] {
        pg::as_extension_owner(
            [&] { pg::as_role(role, [&] { answer = run(known, call, instance); }); });
    });
    if (being_asked.is_missing())
        return std::nullopt;
    if (failure.has_value())
        throw *failure;  // NOLINT(cert-err60-cpp): as it came
    return answer;
}

std::optional<std::string> answer(const pg::Arguments &arguments)
{
    const std::string instance = arguments.text({0, "instance_name"});
    const int asker = arguments.integer({1, "asker"});
    const std::string name = arguments.text({2, "role"});
    const Call call{arguments.text({3, "function"}), arguments.integer64({4, "id"}),
                    arguments.texts({5, "arguments"}, core::most_names, core::any_length),
                    std::nullopt, arguments.boolean({6, "is_about_letter"})};
    (void)require_known(call);
    demand_neighbour(instance, asker);
    const Oid role = require_role(name);
    demand_no_more_than_own(role, name);
    return answer_here(call, role, asker == core::router_node ? Asker::router : Asker::shard,
                       instance);
}

}  // namespace

std::optional<std::string> answer_here(const Call &call, Oid role, Asker asker,
                                       std::string_view instance)
{
    const Known &known = require_known(call);
    if (const auto first = ask_once(known, call, role, asker, instance))
        return *first;
    // A held job may be let in after the queues were searched and before the held jobs were
    // searched.
    return asker == Asker::router
               ? ask_once(known, call, role, asker, instance).value_or(std::nullopt)
               : std::nullopt;
}

}  // namespace hipq::nodes

HIPQ_FUNCTION(hipq__answer)
{
    const auto answer = hipq::nodes::answer(hipq::pg::Arguments(fcinfo));
    if (!answer.has_value())
        PG_RETURN_NULL();
    return hipq::pg::return_text(*answer);
}
