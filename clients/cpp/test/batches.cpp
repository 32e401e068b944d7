// Batches, in a database with the queue app.mail; prints "all holds", or what does not.
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

std::string text_of(const std::optional<BatchProgress> &progress)
{
    if (!progress)
        return "nothing";
    std::string text = progress->state;
    for (const std::int64_t count : {progress->jobs, progress->unfinished, progress->succeeded,
                                     progress->failed, progress->skipped})
        text += " " + std::to_string(count);
    return text;
}

void check_progress(const Connection &connection, const Batch &batch, const std::string &expected)
{
    const std::string found = text_of(batch_progress(connection, batch));
    check(found == expected, "the progress is " + expected + ", not " + found);
}

std::int64_t callback_of(const Connection &connection, const Batch &batch)
{
    return connection
        .execute("SELECT id FROM hipq.jobs_detail WHERE job_type = 'told' "
                 "AND hipq.current_batch(id) = $1::bigint",
                 {std::to_string(batch.id())})
        .number(0, "id");
}

// Runs all jobs. A scan fails if its data say so, and adds as many jobs as they say. A callback
// returns the progress of its batch.
void run_all(const Connection &connection)
{
    const auto quiet = [](const LogEntry &) {};
    Worker worker({.name = "batches", .queues = {"app.mail"}, .concurrency = 4, .log = quiet});
    worker.job("scan", [](Job &job) {
        if (job.data.contains("fail"))
            throw Permanent("no");
        if (job.data.contains("add"))
            enqueue_many(Connection(), "scan", std::vector<Json>(job.data["add"], Json::object()),
                         {.queue = "app.mail", .batch = job.batch()});
    });
    worker.job("told", [](Job &job) {
        return Json{job.data, text_of(batch_progress(Connection(), job.batch().value()))};
    });
    run_until_idle(worker, connection, "app.mail", std::chrono::minutes(1));
}

void check_options(const Connection &connection)
{
    std::optional<Batch> batch;
    {
        const Transaction rolled_back(connection);
        batch = create_batch(connection, {.name = "import",
                                          .callback_type = "told",
                                          .callback_data = {{"n", 1}},
                                          .queue = "app.mail",
                                          .expires_after = "2 hours",
                                          .closed = true});
        const Result row = connection.execute(
            "SELECT concat_ws(' ', name, queue, state, "
            "round(extract(epoch FROM expires_time - created_time) / 3600)) AS options, "
            "(SELECT job_data FROM hipq.jobs_detail WHERE id = $2) AS data "
            "FROM hipq.batches_detail WHERE batch_id = $1",
            {std::to_string(batch->id()), std::to_string(callback_of(connection, *batch))});
        check(row.text(0, "options") == "import app.mail finished 2",
              "a batch has its options: " + row.text(0, "options"));
        check(row.text(0, "data") == R"({"n": 1})", "its callback has data");
    }
    check_progress(connection, *batch, "nothing");
}

void check_callback(const Connection &connection)
{
    const Batch batch = create_batch(connection, {.callback_type = "told", .queue = "app.mail"});
    enqueue(connection, "scan", Json::object(), {.queue = "app.mail", .batch = batch});
    enqueue_many(connection, "scan", {Json::object(), {{"fail", true}}},
                 {.queue = "app.mail", .batch = batch.id()});
    check_progress(connection, batch, "open 3 3 0 0 0");
    check(close_batch(connection, batch), "a batch is closed");
    check(!close_batch(connection, batch), "once");
    run_all(connection);
    check(result_of(connection, callback_of(connection, batch)) ==
              Json{Json::object(), "finished 3 0 2 1 0"},
          "the callback runs after the jobs");
}

void check_call_when(const Connection &connection)
{
    const Batch batch = create_batch(
        connection, {.callback_type = "told", .call_when = "succeeded", .queue = "app.mail"});
    enqueue(connection, "scan", {{"fail", true}}, {.queue = "app.mail", .batch = batch});
    close_batch(connection, batch);
    run_all(connection);
    check(outcome_of(connection, callback_of(connection, batch)) == "skipped",
          "a callback that is called after success is skipped");
}

void check_jobs_that_add_jobs(const Connection &connection)
{
    Transaction transaction(connection);
    const Batch batch =
        create_batch(connection, {.callback_type = "told", .queue = "app.mail", .closed = true});
    const EnqueueOptions options{.queue = "app.mail", .batch = batch};
    enqueue(connection, "scan", {{"add", 2}}, options);
    transaction.commit();
    check(sqlstate_of([&] { enqueue(connection, "scan", {}, options); }) == "55000",
          "a closed batch takes no jobs");
    run_all(connection);
    check_progress(connection, batch, "finished 3 0 3 0 0");
}

void check_cancel(const Connection &connection)
{
    const Batch batch = create_batch(connection, {.callback_type = "told", .queue = "app.mail"});
    const auto ids = enqueue_many(connection, "scan", {Json::object(), Json::object()},
                                  {.queue = "app.mail", .batch = batch});
    check(cancel_batch(connection, batch, "not wanted") == 2, "a batch is cancelled");
    check(wait_for(connection, ids[0], "10 s")->error->find("not wanted") != std::string::npos,
          "its jobs have the reason");
    run_all(connection);
    check(result_of(connection, callback_of(connection, batch))[1] == "finished 2 0 0 2 0",
          "the callback of a cancelled batch runs");
}

void check_after_batch(const Connection &connection)
{
    const Batch batch = create_batch(connection, {.queue = "app.mail"});
    const auto later =
        enqueue(connection, "scan", Json::object(), {.queue = "app.mail", .after_batch = batch});
    const auto alarm = enqueue(connection, "scan", Json::object(),
                               {.queue = "app.mail",
                                .after_policy = "failed",
                                .on_failure = "skip",
                                .after_batch = batch});
    check(current_batch(connection, later) == batch, "a job comes after a batch");
    const auto member =
        enqueue(connection, "scan", Json::object(), {.queue = "app.mail", .batch = batch});
    check(current_batch(connection, member) == batch, "a job belongs to a batch");
    close_batch(connection, batch);
    run_all(connection);
    check(outcome_of(connection, later) == "succeeded", "it runs after all jobs of the batch");
    check(outcome_of(connection, alarm) == "skipped", "it is skipped when none has failed");
}

void check_wrong_use(const Connection &connection)
{
    check(sqlstate_of([&] { create_batch(connection); }) == "22023",
          "a batch without callback needs a queue");
    check(sqlstate_of([&] { close_batch(connection, 900719925474099301); }) == "42704",
          "an unknown batch is refused");
    const auto id = enqueue(connection, "scan", Json::object(),
                            {.queue = "app.mail", .scheduled_run_time = "2100-01-01"});
    check(!current_batch(connection, id), "a job may have no batch");
    cancel(connection, id);
}

}  // namespace

int main()
{
    try {
        const Connection connection;
        check_options(connection);
        check_callback(connection);
        check_call_when(connection);
        check_jobs_that_add_jobs(connection);
        check_cancel(connection);
        check_after_batch(connection);
        check_wrong_use(connection);
        std::cout << "all holds\n";
    } catch (const std::exception &error) {
        std::cout << "does not hold: " << error.what() << "\n";
        return 1;
    }
}
