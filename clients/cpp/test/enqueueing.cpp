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
    check(sqlstate_of([&] { enqueue(connection, "scan", {}, options); }) == "23505",
          "a key that is taken is refused");
    check(!wait_for(connection, first.id, "0.1"), "what has not ended has no outcome");
    cancel(connection, first.id);
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
