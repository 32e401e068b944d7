// A worker with handlers of all kinds, and middleware around one of them.
#include <hipq/client.hpp>

using namespace hipq::client;

struct Page {
    int size;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Page, size)

namespace {

// Only a handler that is told to stop writes that it was.
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
    worker.job("release", [](Job &job) {
        if (job.attempt() == 1)
            throw Release();
        return job.attempt();
    });
    worker.job("slow", wait_to_be_stopped);
    worker.job("told", [](Job &job) { return job.extend("5 min"); });
    try {
        worker.run();
    } catch (const std::exception &error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
}
