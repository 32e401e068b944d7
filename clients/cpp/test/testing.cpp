// The helpers for tests, in a database with the queue app.mail; prints "all holds", or what does
// not.
#include <hipq/client.hpp>

using namespace hipq::client;

namespace {

void check(bool holds, const std::string &what)
{
    if (!holds)
        throw std::runtime_error(what);
}

void check_enqueued(const Connection &connection)
{
    const Transaction transaction(connection);
    enqueue(connection, "scan", {{"n", 1}}, {.queue = "app.mail", .key = "tested"});
    const auto waiting = enqueued(connection, "scan", "app.mail");
    check(waiting.size() == 1, "what the transaction has enqueued is seen");
    check(waiting[0].key == "tested" && waiting[0].data["n"] == 1, "with its key and data");
    check(enqueued(connection, "told").empty(), "other types are not");
}

void check_run_until_idle(const Connection &connection)
{
    const auto ids =
        enqueue_many(connection, "scan", {{{"n", 1}}, {{"n", 2}}}, {.queue = "app.mail"});
    Worker worker({.name = "tested", .queues = {"app.mail"}, .concurrency = 2});
    worker.job("scan", [](Job &job) { return job.data["n"]; });
    run_until_idle(worker, connection, "app.mail", std::chrono::minutes(1));
    check(wait_for(connection, ids[1], "0")->result == 2, "all jobs have run");
    check(detail::is_busy(connection, "app.mail") == false, "none waits");
}

void check_after_own_job(const Connection &connection)
{
    std::int64_t next = 0;
    Worker worker({.name = "first", .queues = {"app.mail"}});
    worker.job("scan", [&](Job &job) {
        if (job.data.empty())
            next = enqueue(Connection(), "scan", {{"n", 3}}, {.queue = "app.mail", .after = {job}});
    });
    enqueue(connection, "scan", Json::object(), {.queue = "app.mail"});
    run_until_idle(worker, connection, "app.mail", std::chrono::minutes(1));
    check(wait_for(connection, next, "0")->outcome == "succeeded",
          "a job that comes after the job of its handler has run");
}

void check_limits(const Connection &connection)
{
    const std::int64_t id = enqueue(connection, "scan", {}, {.queue = "app.mail"});
    Worker worker({.name = "tested", .queues = {"app.mail"}, .take_over = true});
    worker.job("scan", [](Job &job) {
        while (!job.stop().stop_requested())
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
    });
    try {
        run_until_idle(worker, connection, "app.mail", std::chrono::milliseconds(500));
        check(false, "what takes too long throws");
    } catch (const Error &error) {
        check(std::string(error.what()).find("have not ended in time") != std::string::npos,
              "and says so");
    }
    cancel(connection, id);
    Worker nobody({.name = "nobody", .queues = {"app.none"}, .log = [](const LogEntry &) {}});
    nobody.job("scan", [](Job &) {});
    const std::int64_t waits = enqueue(connection, "scan", {}, {.queue = "app.mail"});
    try {
        run_until_idle(nobody, connection, "app.mail");
        check(false, "a worker that cannot register throws");
    } catch (const Error &error) {
        check(error.sqlstate() == "42704", "what the server says");
    }
    cancel(connection, waits);
}

}  // namespace

int main()
{
    try {
        const Connection connection;
        check_enqueued(connection);
        check_run_until_idle(connection);
        check_after_own_job(connection);
        check_limits(connection);
        std::cout << "all holds\n";
    } catch (const std::exception &error) {
        std::cout << "does not hold: " << error.what() << "\n";
        return 1;
    }
}
