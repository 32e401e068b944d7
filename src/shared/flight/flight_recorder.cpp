// Records which jobs each executor runs, and makes crash cases of the records after a crash.
#include "shared/flight/flight_recorder.hpp"

#include "core/recovery/crash_report.hpp"
#include "core/recovery/flight_log.hpp"
#include "shared/flight/crash_cases.hpp"
#include "shared/flight/flight_file.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/memory/registry.hpp"

extern "C" {
#include "storage/pmsignal.h"
}

namespace hipq::flight {

namespace {

using core::CrashCase;
using core::FlightSlot;
using core::FlightWord;
using core::QuitMark;

constinit FlightMemory recorder{};    // made by the postmaster, inherited by all other processes
constinit bool is_first_life = true;  // the postmaster has not restarted the server after a crash
constinit FlightSlot *volatile own_slot =
    nullptr;  // what this process records; read in a signal handler

using Word = std::atomic_ref<std::uint64_t>;
static_assert(Word::is_always_lock_free, "stored in a signal handler");

// ---- the verdict ----

void log_verdict(std::span<const CrashCase> cases, const core::FlightLog &log)
{
    std::size_t suspects = 0;
    for (const CrashCase &entry : cases) {
        suspects += entry.runs_alone != 0 ? 1 : 0;
        if (entry.charge_due != 0)
            pg::call([&] {
                ereport(LOG,
                        errmsg("hipq job %lld ran in the process that crashed, PID %d",
                               static_cast<long long>(entry.job_id), entry.pid),
                        errdetail("Database OID %u, attempt %d.", entry.database, entry.attempt));
            });
    }
    pg::call([&] {
        ereport(
            LOG,
            errmsg("hipq executors ran jobs when the server ended: %zu; suspects of a crash: %zu",
                   log.slots.size(), suspects));
    });
}

struct Verdict {
    std::vector<CrashCase> cases;
    core::CrashStreak streak;
};

Verdict judge_last_life(const core::FlightStamp &stamp)
{
    const std::vector<std::byte> bytes = read_flight_file();
    if (bytes.empty())
        return {};
    const auto log = core::read_flight_log(bytes, stamp);
    if (!log.has_value()) {
        pg::call([] {
            ereport(
                LOG, errmsg("hipq ignores flight recorder \"%s\"", flight_file_name),
                errdetail("It is damaged, or not of this server since the machine was started."));
        });
        return {};
    }
    const core::EndOfLife end = core::end_of_life(*log, !is_first_life);
    const std::int64_t now = ::GetCurrentTimestamp();
    Verdict verdict{core::judge(*log, end, now), core::streak_after(*log, end, now)};
    if (!log->slots.empty())
        log_verdict(verdict.cases, *log);
    return verdict;
}

// ---- the start of the server ----

void end_recording()
{
    if (recorder.header != nullptr)
        unmap_flight_file(recorder);
    recorder = FlightMemory{};
    keep_crash_cases_in({}, 0, {});
}

void report_no_recorder()
{
    pg::call([] {
        ereport(LOG, errcode_for_file_access(),
                errmsg("hipq could not write flight recorder \"%s\": %m", flight_file_name),
                errdetail("No job will be charged for a crash of the server."));
    });
}

void begin()
{
    end_recording();
    const core::FlightStamp stamp = own_flight_stamp();
    const Verdict verdict = judge_last_life(stamp);
    const std::vector<CrashCase> &cases = verdict.cases;
    const auto memory = replace_flight_file(core::new_flight_log(
        stamp, static_cast<std::size_t>(memory::executor_places()), cases, verdict.streak));
    if (!memory.has_value()) {
        report_no_recorder();
        return;
    }
    recorder = *memory;
    keep_crash_cases_in(recorder.cases, cases.size(), verdict.streak);
    if (cases.size() > recorder.cases.size())
        memory::raise_alert(memory::Alert::crash_cases_full);
}

// ---- slots ----

FlightSlot *slot_at(int slot)
{
    const bool is_recorded = recorder.header != nullptr && slot >= 0 &&
                             static_cast<std::uint32_t>(slot) < recorder.header->slot_count;
    return is_recorded ? &recorder.slots[slot] : nullptr;
}

// Runs in the signal handler. A process that received SIGQUIT from another sender than the
// postmaster leaves no mark: it is the one that takes the server down.
void leave_mark()
{
    const QuitSignalReason reason = ::GetQuitSignalReason();
    if (recorder.header == nullptr || reason == PMQUIT_NOT_SENT)
        return;
    const bool is_crash = reason == PMQUIT_FOR_CRASH;
    Word(is_crash ? recorder.header->quit_for_crash : recorder.header->quit_for_stop).store(1);
    if (FlightSlot *slot = own_slot; slot != nullptr)
        Word(slot->word).fetch_or(core::pack({0, is_crash ? QuitMark::crash : QuitMark::stop, 0}));
}

// Empties the slot. Returns how many jobs were in it.
std::size_t empty(FlightSlot &slot)
{
    const FlightWord word = core::unpack(slot.word);
    Word(slot.word).store(core::pack({word.generation + 1, QuitMark::none, 0}),
                          std::memory_order_release);
    return std::min<std::size_t>(word.count, core::max_flight_jobs);
}

// Reads what the previous run of the server left and begins a new file, at server start and again
// after each crash. Failures are logged.
void begin_flight_recorder()
{
    if (!IsPostmasterEnvironment || IsUnderPostmaster)
        return;
    try {
        begin();
    } catch (...) {  // out of memory, or an error while logging: continue without a recorder
        end_recording();
    }
    is_first_life = false;
}

}  // namespace

constinit const memory::Part flight_recorder_part{request_crash_cases, set_up_crash_cases,
                                                  begin_flight_recorder, forget_crash_cases};

bool is_recording()
{
    return recorder.header != nullptr;
}

void install_quit_handler()
{
    pqsignal(SIGQUIT, [](auto... signal) {
        leave_mark();
        ::SignalHandlerForCrashExit(signal...);
    });
}

void record_running(int slot, const memory::RunningJob &first,
                    std::span<const memory::Attempt> attempts) noexcept
{
    FlightSlot *own = slot_at(slot);
    if (own == nullptr || attempts.empty())
        return;
    (void)empty(*own);
    const std::size_t count = std::min(attempts.size(), core::max_flight_jobs);
    own->database = MyDatabaseId;
    own->queue_id = first.queue_id;
    own->pid = MyProcPid;
    own->started = first.started.value;
    for (std::size_t i = 0; i < count; ++i)
        own->jobs[i] = core::FlightJob{attempts[i].id, attempts[i].number, 0};
    const std::uint32_t generation = core::unpack(own->word).generation + 1;
    own->check = core::check_of(*own, generation, count);
    own_slot = own;
    Word(own->word).store(
        core::pack({generation, QuitMark::none, static_cast<std::uint16_t>(count)}),
        std::memory_order_release);
}

void clear_running(int slot) noexcept
{
    FlightSlot *own = slot_at(slot);
    if (own == nullptr)
        return;
    const std::size_t count = empty(*own);
    acquit(own->database, {own->jobs, count});
}

void abandon_running(int slot) noexcept
{
    if (FlightSlot *own = slot_at(slot); own != nullptr)
        (void)empty(*own);
}

}  // namespace hipq::flight
