// The options of hipq-run: the only list of them, for the command line, the file and the help.
#include "options/options.hpp"
#include "options/values.hpp"

namespace hipq::run {

namespace {

void append(std::vector<std::string> &to, const std::string &names)
{
    for (const std::string &name : read_names(names))
        to.push_back(name);
}

void set_level(Options &options, const std::string &value)
{
    if (value != "info" && value != "warning" && value != "error")
        throw UsageError("needs \"info\", \"warning\" or \"error\"");
    options.log_level = value;
}

std::vector<Option> make_table()
{
    using O = Options;
    using S = std::string;
    return {
        {"dbname", 'd', "CONNINFO",
         "where to connect: a URI, or service=...; else PGHOST and so on",
         [](O &o, const S &value) { o.conninfo = value; }},
        {"queue", 'q', "NAMES", "the queues to serve, such as app.mail (comma between two)",
         [](O &o, const S &value) { append(o.queues, value); }},
        {"types", 't', "NAMES", "the job types to serve (comma between two)",
         [](O &o, const S &value) { append(o.types, value); }},
        {"jobs", 'j', "N", "how many jobs at a time (1)",
         [](O &o, const S &value) { o.jobs = read_number(value, 1, 10'000); }},
        {"prefetch", 0, "N", "how many more jobs it may be offered (0)",
         [](O &o, const S &value) { o.prefetch = read_number(value, 0, 10'000); }},
        {"name", 0, "NAME", "its name, which one worker has at a time (host and process)",
         [](O &o, const S &value) { o.name = value; }},
        {"take-over", 0, "", "takes the name from a worker that is still there",
         [](O &o, const S &value) { o.take_over = read_choice(value, "no", "yes"); }},
        {"capabilities", 0, "JSON", "what job types may require of it, an object",
         [](O &o, const S &value) { o.capabilities = read_object(value); }},
        {"poll", 0, "", "asks for jobs instead of listening: for poolers, and for long jobs",
         [](O &o, const S &value) { o.poll = read_choice(value, "no", "yes"); }},
        {"batch", 0, "", "runs the program once, for all jobs: JSON, a line for each job",
         [](O &o, const S &value) { o.batch = read_choice(value, "no", "yes"); }},
        {"once", 0, "", "ends after one job",
         [](O &o, const S &value) { o.once = read_choice(value, "no", "yes"); }},
        {"drain", 0, "", "ends when there are no more jobs",
         [](O &o, const S &value) { o.drain = read_choice(value, "no", "yes"); }},
        {"idle", 0, "SECONDS", "with --drain: how long no job has to have come (5)",
         [](O &o, const S &value) { o.idle = read_seconds(value); }},
        {"grace", 0, "SECONDS", "after SIGTERM: how long children may go on (0: until they end)",
         [](O &o, const S &value) { o.grace = read_seconds(value); }},
        {"kill-after", 0, "SECONDS", "from the SIGTERM of a child to its SIGKILL (5)",
         [](O &o, const S &value) { o.kill_after = read_seconds(value); }},
        {"on-failure", 0, "retry|final", "what exit codes other than 0, 75 and 78 mean (retry)",
         [](O &o, const S &value) { o.failure_is_final = read_choice(value, "retry", "final"); }},
        {"max-output", 0, "BYTES", "the longest result (1000000)",
         [](O &o, const S &value) { o.max_output = read_number(value, 1, 1'000'000'000); }},
        {"config", 'c', "FILE", "a file with these options, in JSON; the command line wins",
         [](O &o, const S &value) { o.config = value; }},
        {"log", 0, "text|json", "the form of the log, which goes to stderr (text)",
         [](O &o, const S &value) { o.log_is_json = read_choice(value, "text", "json"); }},
        {"log-level", 0, "LEVEL", "the least that is logged: info, warning or error (info)",
         set_level},
        {"metrics", 0, "HOST:PORT",
         "serves metrics for Prometheus; a port alone: this machine only",
         [](O &o, const S &value) {
             read_address(value);
             o.metrics = value;
         }},
        {"traces", 0, "URL",
         "where spans of attempts go, by OTLP; else OTEL_EXPORTER_OTLP_ENDPOINT",
         [](O &o, const S &value) {
             read_url(value);
             o.traces = value;
         }},
        {"help", 'h', "", "prints this", [](O &o, const S &) { o.help = true; }},
        {"version", 'V', "", "prints the version", [](O &o, const S &) { o.version = true; }},
    };
}

}  // namespace

const std::vector<Option> &option_table()
{
    static const std::vector<Option> table = make_table();
    return table;
}

std::string help_text()
{
    const std::string text =
        "hipq-run runs a program for each job of a queue of hipq.\n\n"
        "  hipq-run --queue app.mail --types welcome --jobs 8 -- ./send-mail\n\n"
        "The program gets the job's data on stdin, and HIPQ_JOB_ID and others in its "
        "environment.\nIts stdout is the result. Exit code 0: done; 75: try again; "
        "78: never again; others: failed.\n\nOptions:\n";
    return text + program::help_lines(option_table()) +
           "\nhipq-run doctor tells what is wrong in how hipq is set up: hipq-run doctor --help."
           "\nThe manual is docs/hipq-run.md, and man hipq-run.\n";
}

}  // namespace hipq::run
