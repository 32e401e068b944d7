// Marks of handlers' runs: lines appended by write(2) to the file "hipq_marks" in the data
// directory. No rollback takes one back, and no crash of the server: they tell of runs that the
// database has forgotten, in the order in which things happened.
//
//     <microseconds of the monotonic clock> <pid> <what> <job id> <attempt>
//
// what: begin, end, fail are written by handlers; commit, abort by the end of the transaction that
// has begun a run; start by the server at each start and after each crash, when no process of the
// life before is left (needs shared_preload_libraries).
#include <fcntl.h>
#include <unistd.h>

#include <ctime>

#include "pg/guard.hpp"

extern "C" {
#pragma GCC visibility push(default)
PG_MODULE_MAGIC;
void _PG_init(void);
#pragma GCC visibility pop
}

namespace {

struct Run {
    std::int64_t job;
    std::int32_t attempt;
};

// Of the open transaction; a batch has several.
constinit std::array<Run, 1000> runs{};
constinit std::size_t run_count = 0;

constinit int file = -1;
constinit shmem_startup_hook_type previous_startup_hook = nullptr;

// One write: lines of several processes do not mix. False: it was not written.
bool append(const char *what, Run run) noexcept
{
    if (file < 0)
        file = ::open("hipq_marks", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    struct timespec now {};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    std::array<char, 128> line{};
    const int length = std::snprintf(
        line.data(), line.size(), "%lld %d %s %lld %d\n",
        static_cast<long long>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1'000,
        static_cast<int>(::getpid()), what, static_cast<long long>(run.job), run.attempt);
    return file >= 0 && ::write(file, line.data(), static_cast<std::size_t>(length)) == length;
}

extern "C" void marks_transaction_ends(XactEvent event, void *)
{
    if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT && event != XACT_EVENT_PREPARE)
        return;
    for (std::size_t i = 0; i < run_count; ++i)
        append(event == XACT_EVENT_COMMIT ? "commit" : "abort", runs[i]);
    run_count = 0;
}

extern "C" void marks_server_starts()
{
    if (previous_startup_hook != nullptr)
        previous_startup_hook();
    append("start", Run{0, 0});
    if (file >= 0)
        ::close(file);  // each process opens its own
    file = -1;
}

}  // namespace

void _PG_init()
{
    ::RegisterXactCallback(marks_transaction_ends, nullptr);
    if (process_shared_preload_libraries_in_progress) {
        previous_startup_hook = shmem_startup_hook;
        shmem_startup_hook = marks_server_starts;
    }
}

// mark(what text, job_id bigint, attempt integer), STRICT
HIPQ_FUNCTION(marks_mark)
{
    const Run run{DatumGetInt64(fcinfo->args[1].value), DatumGetInt32(fcinfo->args[2].value)};
    const char *what =
        hipq::pg::call([&] { return ::text_to_cstring(DatumGetTextPP(fcinfo->args[0].value)); });
    const bool begins = std::string_view(what) == "begin";
    if (begins && run_count == runs.size())
        HIPQ_RAISE(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                   errmsg("too many runs in one transaction"));
    if (!append(what, run))
        HIPQ_RAISE(errcode_for_file_access(), errmsg("could not write a mark: %m"));
    if (begins)
        runs[run_count++] = run;
    return Datum{0};
}
