// Does for another node what somebody has called there.
//
// With the rights of the caller's role, by its name, and as in a function with SECURITY DEFINER: no
// code of users gets those of the session, which are a superuser's.
#include "nodes/answer.hpp"

#include "catalog/catalog.hpp"
#include "job/job.hpp"
#include "nodes/search.hpp"
#include "pg/arguments.hpp"
#include "pg/subtransaction.hpp"
#include "pg/transaction.hpp"

namespace hipq::nodes {

namespace {

struct Known {
    const char *function;
    std::size_t arguments;  // after the id
    const char *sql;        // $1: the id
};

constexpr Known known_functions[] = {
    {"cancel", 2, "SELECT to_jsonb(hipq.cancel($1, $2, $3))::text"},
    {"retry", 3, "SELECT to_jsonb(hipq.retry($1, $2, $3::jsonb, $4))::text"},
    {"reschedule", 3,
     "SELECT to_jsonb(hipq.reschedule($1, $2::timestamptz, $3::integer, $4)::text)::text"},
    {"wait_for", 2,
     "SELECT to_jsonb(waited)::text FROM hipq.wait_for($1, $2::hipq.duration, $3) AS waited"},
    {"why", 1,
     "SELECT jsonb_agg(to_jsonb(line) ORDER BY line.ordinality)::text FROM hipq.why($1, $2) WITH "
     "ORDINALITY AS line"},
    {"erase", 1, "SELECT to_jsonb(hipq.erase($1, $2))::text"},
    {"fail_job", 2, "SELECT hipq.fail_job($1, $2, $3)"},
    {"is_job_retriable", 1,
     "SELECT answer.retriable::text || ' ' || answer.reason FROM hipq.is_job_retriable($1, $2) AS "
     "answer"},
    {"extend_job", 2,
     "SELECT coalesce((extract(epoch FROM hipq.extend_job($1, $2::hipq.duration, $3)) * 1000000)"
     "::bigint::text, 'infinity')"},
    {"find_job", 1, "SELECT to_jsonb(found)::text FROM hipq.find_job($1, $2) AS found"},
    {"redrive", 1, "SELECT to_jsonb(hipq.redrive($1, $2))::text"},
    {"dismiss_dead_letter", 0, "SELECT to_jsonb(hipq.dismiss_dead_letter($1)::text)::text"},
    {"purge_dead_letter", 0, "SELECT to_jsonb(hipq.purge_dead_letter($1)::text)::text"},
    // For a node that has to know where a job is before it has anything done.
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

std::optional<std::string> run(const Known &known, const Call &call)
{
    if (known.sql == nullptr)
        return tell_whether_here(call);
    std::vector<pg::Parameter> parameters{pg::Parameter(call.id)};
    for (const std::optional<std::string> &argument : call.arguments)
        parameters.emplace_back(argument);
    const pg::Rows rows = pg::execute_once(known.sql, parameters);
    return rows.empty() ? std::nullopt : rows.front().maybe_text(0);
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

// Nothing: there is no such job here.
std::optional<std::optional<std::string>> ask_once(const Known &known, const Call &call, Oid role,
                                                   Asker asker, std::string_view instance)
{
    const BeingAsked being_asked(asker, instance);
    std::optional<std::string> answer;
    const auto failure = pg::in_subtransaction(pg::Ending::kept, [&] {
        pg::as_extension_owner([&] { pg::as_role(role, [&] { answer = run(known, call); }); });
    });
    if (being_asked.is_missing())
        return std::nullopt;
    if (failure.has_value())
        throw *failure;  // NOLINT(cert-err60-cpp): as it came
    return answer;
}

std::optional<std::string> answer(const pg::Arguments &arguments)
{
    const std::string instance = arguments.text(0, "instance_name");
    const bool is_router = arguments.integer(1, "asker") == core::router_node;
    const Oid role = require_role(arguments.text(2, "role"));
    const Call call{arguments.text(3, "function"), arguments.integer64(4, "id"),
                    arguments.texts(5, core::most_names, core::any_length), std::nullopt,
                    arguments.boolean(6, "is_about_letter")};
    return answer_here(call, role, is_router ? Asker::router : Asker::shard, instance);
}

}  // namespace

std::optional<std::string> answer_here(const Call &call, Oid role, Asker asker,
                                       std::string_view instance)
{
    const Known &known = require_known(call);
    if (const auto first = ask_once(known, call, role, asker, instance))
        return *first;
    // One that is held is let in after it was looked for among the others, and before those that
    // are held were looked at.
    return asker == Asker::router
               ? ask_once(known, call, role, asker, instance).value_or(std::nullopt)
               : std::nullopt;
}

}  // namespace hipq::nodes

HIPQ_FUNCTION(hipq__answer)
{
    hipq::catalog::demand_superuser("call for another role");
    const auto answer = hipq::nodes::answer(hipq::pg::Arguments(fcinfo));
    if (!answer.has_value())
        PG_RETURN_NULL();
    return hipq::pg::return_text(*answer);
}
