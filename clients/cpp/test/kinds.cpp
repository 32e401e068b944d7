// A worker with handlers of all kinds, and middleware around one of them.
#include <hipq/client.hpp>

using namespace hipq::client;

struct Page {
    int size;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Page, size)

namespace {

// Only a handler that is told to stop writes this.
void wait_to_be_stopped(Job &job)
{
    job.progress(3, 10, "on the way");
    while (!job.stop().stop_requested())
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    try {
        Connection().execute("INSERT INTO signup VALUES ('stopped')");
    } catch (const Error &) {
        // The server may be away.
    }
    throw AttemptOver(job.id(), job.attempt());
}

Middleware named(const std::string &name)
{
    return [name](Job &job, const std::function<Json()> &next) -> Json {
        return job.type() == "wrapped" ? Json{name, next()} : next();
    };
}

// For each job how it has ended: the number of jobs in the call, or what its data says.
std::vector<Ending> end_many(const Jobs &jobs)
{
    std::vector<Ending> endings;
    for (const Job &job : jobs) {
        const std::string how = job.data["how"];
        if (how == "fail")
            endings.push_back(Failure{"no luck"});
        else if (how == "later")
            endings.push_back(Failure{"busy", true, job.data["delay"].get<std::string>()});
        else if (how == "release" && job.attempt() == 1)
            endings.push_back(GivenBack{});
        else
            endings.push_back(Json(jobs.size()));
    }
    return endings;
}

std::vector<Json> sizes(const std::vector<Typed<Page>> &pages)
{
    std::vector<Json> results;
    for (const Typed<Page> &page : pages)
        results.push_back(2 * page.data.size);
    return results;
}

}  // namespace

int main(int count, char **arguments)
{
    const bool pooler = count > 1 && std::string(arguments[1]) == "pooler";
    Worker worker({.name = "kinds", .queues = {"app.mail"}, .concurrency = 8, .pooler = pooler});
    worker.use(named("outer")).use(named("inner"));
    worker.job("wrapped", [](Job &) { return "handled"; });
    worker.job<Page>("typed", [](const Page &page, Job &) { return 2 * page.size; });
    worker.job("failing", [](Job &) { throw std::runtime_error("no luck"); });
    worker.job("permanent", [](Job &) { throw Permanent("no hope"); });
    worker.job("later",
               [](Job &job) { throw RetryAfter(job.data.value("delay", "7 min"), "busy"); });
    worker.job("release", [](Job &job) {
        if (job.attempt() == 1)
            throw Release();
        return job.attempt();
    });
    worker.batch("many", end_many, 4);
    worker.batch<Page>("typed_many", sizes, 4);
    worker.batch("one_over", [](const Jobs &jobs) {
        Connection().execute("SELECT hipq.cancel($1)", {std::to_string(jobs[0].get().id())});
        jobs[0].get().progress(1);
    });
    worker.batch("all", [](const Jobs &) { throw Permanent("none of them"); });
    worker.job("slow", wait_to_be_stopped);
    worker.job("told", [](Job &job) { return job.extend("5 min"); });
    try {
        worker.run();
    } catch (const std::exception &error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
}
