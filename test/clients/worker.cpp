// A worker in C++ as a user would write it. Each start and each end of a job is a line of a ledger;
// a long job waits for a file.
#include <hipq/client.hpp>

#include <filesystem>
#include <fstream>

using namespace hipq::client;

namespace {

std::string variable(const char *name, const std::string &otherwise = {})
{
    const char *value = std::getenv(name);
    return value != nullptr ? value : otherwise;
}

const std::string folder = variable("HIPQ_LEDGER");

void note(const std::string &word, const Job &job)
{
    std::ofstream(folder + "/ledger", std::ios::app)
        << word + " " + std::to_string(job.id()) + " " + std::to_string(job.attempt()) + "\n";
}

bool may_end(const Job &job)
{
    return std::filesystem::exists(folder + "/" + std::to_string(job.id())) ||
           std::filesystem::exists(folder + "/all");
}

int run_job(Job &job)
{
    note("start", job);
    while (job.type() == "long" && !may_end(job)) {
        if (job.is_over()) {
            note("over", job);
            throw AttemptOver(job.id(), job.attempt());
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    note("end", job);
    return job.attempt();
}

}  // namespace

int main()
{
    Worker worker({.name = variable("HIPQ_NAME"),
                   .queues = {variable("HIPQ_QUEUE", "app.run")},
                   .concurrency = 4,
                   .pooler = !variable("HIPQ_POOLER").empty(),
                   .reply_timeout = std::chrono::seconds(6)});
    worker.job("short", run_job).job("long", run_job);
    try {
        worker.run();
    } catch (const std::exception &error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
}
