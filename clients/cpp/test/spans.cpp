// A worker whose attempts are spans, sent to the collector that the environment names.
#include <hipq/client.hpp>
#include <hipq/client/otlp_exporter.hpp>

using namespace hipq::client;

int main()
{
    const std::string name = "spans";
    Worker worker({.name = name,
                   .queues = {"app.mail"},
                   .check_interval = std::chrono::milliseconds(50),
                   .log = [](const LogEntry &) {}});
    OtlpExporter exporter(worker.loop(), otlp_options("scanner").value(), log_to_stderr);
    worker.use(traced(name, [&](Span span) { exporter.add(std::move(span)); }));
    worker.job("span", [](Job &job) {
        const std::string how = job.data.value("how", "");
        if (how == "fail")
            throw std::runtime_error("no luck");
        if (how == "permanent")
            throw Permanent("no such address");
        if (how == "later" && job.attempt() == 1)
            throw RetryAfter("0", "busy");
        if (how == "release" && job.attempt() == 1)
            throw Release();
        if (how == "strange")
            throw 7;
        while (how == "cancel" && !job.is_over())
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        return Json(*job.traceparent());
    });
    worker.run();
    exporter.finish();
}
