// Enqueues, waits and cancels, in a database with the queue app.mail; prints "all holds", or what
// does not.
#include <hipq/client.hpp>

using namespace hipq::client;

namespace {

void check(bool holds, const std::string &what)
{
    if (!holds)
        throw std::runtime_error(what);
}

std::string sqlstate_of(const std::function<void()> &call)
{
    try {
        call();
    } catch (const Error &error) {
        return error.sqlstate();
    }
    return "none";
}

std::string count(const Connection &connection, const std::string &type)
{
    return connection.execute("SELECT count(*) AS count FROM hipq.jobs WHERE job_type = $1", {type})
        .text(0, "count");
}

void check_transactions(const Connection &connection)
{
    {
        const Transaction rolled_back(connection);
        enqueue(connection, "scan", Json::object(), {.queue = "app.mail", .key = "never"});
    }
    check(sqlstate_of([&] {
              Transaction failed(connection);
              try {
                  run(connection, {"SELECT 1/0", {}});
              } catch (const Error &) {
                  enqueue(connection, "scan");
              }
              failed.commit();
          }) == "25P02",
          "a transaction that has failed takes no job");
    check(connection.execute("SELECT count(*) AS count FROM hipq.jobs WHERE job_key = 'never'")
                  .text(0, "count") == "0",
          "after a rollback there is no job");
}

void check_trace(const Connection &connection)
{
    const std::string trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const auto id =
        enqueue(connection, "scan", Json::object(),
                {.queue = "app.mail", .scheduled_run_time = "2100-01-01", .traceparent = trace});
    const Result row = connection.execute("SELECT traceparent FROM hipq.jobs_detail WHERE id = $1",
                                          {std::to_string(id)});
    check(row.text(0, "traceparent") == trace, "a job has the trace that it was given");
}

void check_many(const Connection &connection)
{
    const std::string before = count(connection, "scan");
    const auto ids =
        enqueue_many(connection, "scan", {{{"say", "\"a\\b\", {}"}}, nullptr, {{"n", 1.5}}},
                     {.queue = "app.mail", .scheduled_run_time = "2100-01-01"},
                     {"one", std::nullopt, "say \"three\""});
    check(ids.size() == 3, "there is an id for each job");
    const Result rows = connection.execute("SELECT job_data::text, job_key FROM hipq.jobs_detail "
                                           "WHERE id = ANY ($1::bigint[]) ORDER BY "
                                           "array_position($1::bigint[], id)",
                                           {number_array(ids)});
    check(rows.text(0, "job_data") == R"({"say": "\"a\\b\", {}"})", "data arrive as they are");
    check(rows.text(2, "job_key") == "say \"three\"", "so do keys");
    check(std::stoi(count(connection, "scan")) == std::stoi(before) + 3, "all are there");
    for (const std::int64_t id : ids)
        check(cancel(connection, id, "not wanted"), "what waits is cancelled");
    check(wait_for(connection, ids[0], "10 s")->outcome == "cancelled", "and that is its outcome");
}

void check_keys(const Connection &connection)
{
    const EnqueueOptions options{.queue = "app.mail",
                                 .key = "only",
                                 .scheduled_run_time = "2100-01-01",
                                 .priority = 3,
                                 .max_retries = 2,
                                 .throttle_factor = 0.5};
    const auto first = enqueue_unique(connection, "scan", {{"n", 1}}, options);
    const auto second = enqueue_unique(connection, "scan", {{"n", 2}}, options);
    check(first.action == "inserted" && second.action == "returned" && first.id == second.id,
          "a key has one job");
    EnqueueOptions keeps = options;
    keeps.on_duplicate = "after_first";
    check(enqueue(connection, "scan", {}, keeps) == first.id, "after_first keeps a waiting job");
    check(sqlstate_of([&] { enqueue(connection, "scan", {}, options); }) == "23505",
          "a key that is taken is refused");
    check(!wait_for(connection, first.id, "0.1"), "what has not ended has no outcome");
    cancel(connection, first.id);
}

std::string waits_for(const Connection &connection, std::int64_t id)
{
    return connection
        .execute("SELECT coalesce(waits_for, 'nothing') AS waits_for FROM hipq.jobs_detail "
                 "WHERE id = $1",
                 {std::to_string(id)})
        .text(0, "waits_for");
}

void check_after(const Connection &connection)
{
    const EnqueueOptions later{.queue = "app.mail", .scheduled_run_time = "2100-01-01"};
    const auto ids = enqueue_many(connection, "scan", {{{"n", 1}}, {{"n", 2}}}, later);
    const auto unique =
        enqueue_unique(connection, "scan", Json::object(),
                       {.queue = "app.mail", .key = "unique", .after = ids, .after_policy = "any"});
    const auto last =
        enqueue_many(connection, "scan", {Json::object()},
                     {.queue = "app.mail", .after = {ids[0], unique}, .on_failure = "skip"});
    check(waits_for(connection, unique.id) == "jobs", "a job that comes after others is held");
    check(waits_for(connection, last[0]) == "jobs", "so are many, after ids and objects");
    cancel(connection, ids[0]);
    check(wait_for(connection, last[0], "10 s")->outcome == "skipped", "a job is skipped");
    check(!wait_for(connection, unique.id, "0"), "another one waits for any job to succeed");
    cancel(connection, unique.id);
    cancel(connection, ids[1]);
    const auto free =
        enqueue(connection, "scan", Json::object(),
                {.queue = "app.mail", .after = std::vector<std::int64_t>(), .on_failure = "skip"});
    check(waits_for(connection, free) == "nothing", "after an empty list a job is free");
    cancel(connection, free);
    check(sqlstate_of([&] { enqueue(connection, "scan", {}, {.on_failure = "skip"}); }) == "22023",
          "on_failure needs a list");
}

void check_options_of_graph(const Connection &connection)
{
    Graph graph({.queue = "app.mail", .deadline = "2101-01-01 00:00:00+00"});
    const auto scan = graph.job("scan \"1\"", "scan", {{"say", "\"a\\b\", {}"}},
                                {.key = "graph",
                                 .scheduled_run_time = "2100-01-01",
                                 .expires_time = "2102-01-01 00:00:00+00",
                                 .priority = -7,
                                 .timeout = "5 min",
                                 .queue_ttl = "1.5",
                                 .max_retries = 9,
                                 .throttle_key = "t",
                                 .throttle_factor = 0.5,
                                 .time_windows = "09:00-17:00"});
    const auto index = graph.job("index", "index", nullptr, {.after = {scan}});
    const Transaction rolled_back(connection);
    const auto ids = enqueue(connection, graph);
    check(ids.size() == 2, "a graph has an id for each job");
    const Result row = connection.execute(
        "SELECT concat_ws(' ', job_data, job_key, extract(year FROM scheduled_run_time), "
        "extract(year FROM expires_time AT TIME ZONE 'UTC'), priority, timeout, max_retries, "
        "throttle_key, throttle_factor::float, time_windows) AS options, "
        "(SELECT concat_ws(' ', job_data, waits_for, extract(year FROM expires_time "
        "AT TIME ZONE 'UTC')) FROM hipq.jobs_detail WHERE id = $2) AS others "
        "FROM hipq.jobs_detail WHERE id = $1",
        {std::to_string(ids.at(scan)), std::to_string(ids.at(index))});
    check(row.text(0, "options") ==
              R"({"say": "\"a\\b\", {}"} graph 2100 2102 -7 300 9 t 0.5 09:00-17:00)",
          "a job of a graph has its options: " + row.text(0, "options"));
    check(row.text(0, "others") == "null jobs 2101",
          "a job of a graph has its deadline: " + row.text(0, "others"));
}

void check_graph(const Connection &connection)
{
    check_options_of_graph(connection);
    const auto before = enqueue(connection, "scan", Json::object(),
                                {.queue = "app.mail", .scheduled_run_time = "2100-01-01"});
    Graph graph({.queue = "app.mail"});
    graph.job("skipped", "scan", {}, {.after = {before, "failed"}, .on_failure = "skip"});
    const auto failed = graph.job("failed", "scan", {}, {.after = {before}});
    graph.job("any", "scan", {}, {.after = {failed, before}, .after_policy = "any"});
    const auto ids = enqueue(connection, graph);
    check(outcome_of(connection, ids.at("any")) == "waiting", "jobs of a graph wait");
    check(result_of(connection, Unique{ids.at("any"), ""}).is_null(), "they have no result yet");
    cancel(connection, before);
    for (const auto &[name, id] : ids)
        check(wait_for(connection, id, "10 s").has_value(), "job " + name + " has ended");
    check(outcome_of(connection, "skipped", ids.at("any")) == "skipped", "one is skipped");
    check(outcome_of(connection, "any", ids.at("any")) == "failed", "one fails");
    check(result_of(connection, failed, ids.at("any")) == Json{{"cause", before}},
          "the cause is a result by name");
    check(result_of(connection, ids.at("any")) == Json{{"cause", before}}, "and by id");
}

void check_wrong_graphs(const Connection &connection)
{
    check(enqueue(connection, Graph()).empty(), "a graph may have no jobs");
    Graph circle({.queue = "app.mail"});
    circle.job("a", "scan", {}, {.after = {"b"}});
    circle.job("b", "scan", {}, {.after = {"a"}});
    check(sqlstate_of([&] { enqueue(connection, circle); }) == "22023", "a circle is refused");
    Graph late({.queue = "app.mail"});
    late.job("late", "scan", {}, {.after = {900719925474099301}});
    try {
        enqueue(connection, late);
        check(false, "an unknown id is refused");
    } catch (const Error &error) {
        check(std::string(error.what()).find("900719925474099301") != std::string::npos,
              "an id is not rounded");
    }
}

}  // namespace

int main()
{
    try {
        const Connection connection("application_name=enqueueing");
        check_transactions(connection);
        check_trace(connection);
        check_many(connection);
        check_keys(connection);
        check_after(connection);
        check_graph(connection);
        check_wrong_graphs(connection);
        check(sqlstate_of([&] { enqueue(connection, "nothing"); }) == "42704",
              "a type that is not there is refused");
        check(sqlstate_of([] { Connection("service=nowhere"); }).empty(),
              "a service that is not there is no connection");
        std::cout << "all holds\n";
    } catch (const std::exception &error) {
        std::cout << "does not hold: " << error.what() << "\n";
        return 1;
    }
}
