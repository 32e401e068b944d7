// Keeps the messages that a handler raises for the table of attempts.
//
// PostgreSQL discards a message below the server's log level before any hook sees it. So the level
// is lowered while a handler runs, and the hook keeps out of the server's log what would not have
// been there. The hook runs inside of an ereport(): it allocates without raising an error when
// memory is short, and calls nothing that could throw.
#include "execute/attempt_log.hpp"

#include "catalog/cache.hpp"
#include "job/claimed_job.hpp"
#include "job/log_rows.hpp"
#include "pg/compat.hpp"
#include "pg/internal_write.hpp"
#include "pg/transaction.hpp"
#include "settings.hpp"

extern "C" {
#include "mb/pg_wchar.h"
}

namespace hipq::execute {

namespace {

// ---- call inside pg::call() only, or from a hook ----

struct Said {
    Said *next;
    TimestampTz time;
    int level;
    int code;
    const char *message;
    const char *detail;
    const char *hint;
    const char *context;
};

// The messages of the handler that runs, or that ran last.
struct Log {
    MemoryContext memory;
    Said *first;
    Said **end;
    std::size_t bytes;
    int left_out;
    TimestampTz last_time;
};
constinit Log kept_log{nullptr, nullptr, &kept_log.first, 0, 0, 0};
constinit bool is_listening = false;
constinit int level_of_server = WARNING;  // log_min_messages as it would be without hipq
constinit emit_log_hook_type previous_log_hook = nullptr;

// The number of messages in the current second, for hipq.attempt_log_rate.
constinit TimestampTz second_begins = 0;
constinit int count_of_second = 0;

// Decides as elog.c does.
bool is_for_server(int level)
{
    if (level == LOG || level == LOG_SERVER_ONLY)
        return level_of_server == LOG || level_of_server <= ERROR;
    return level_of_server == LOG ? level >= FATAL : level >= level_of_server;
}

bool comes_too_fast(TimestampTz now)
{
    if (now - second_begins >= USECS_PER_SEC || now < second_begins) {
        second_begins = now;
        count_of_second = 0;
    }
    return ++count_of_second > settings::attempt_log_rate;
}

// Returns null for null, and if there is no memory or no room.
const char *copy(const char *text)
{
    if (text == nullptr)
        return nullptr;
    const auto most = static_cast<std::size_t>(settings::attempt_log_size) - kept_log.bytes;
    std::size_t length = std::strlen(text);
    if (length > most)
        length = static_cast<std::size_t>(
            ::pg_mbcliplen(text, static_cast<int>(length), static_cast<int>(most)));
    auto *made = static_cast<char *>(
        ::MemoryContextAllocExtended(kept_log.memory, length + 1, MCXT_ALLOC_NO_OOM));
    if (made == nullptr)
        return nullptr;
    std::memcpy(made, text, length);
    made[length] = '\0';
    kept_log.bytes += length;
    return made;
}

void keep(const ErrorData &error)
{
    const TimestampTz now = ::GetCurrentTimestamp();
    const bool is_full = kept_log.bytes >= static_cast<std::size_t>(settings::attempt_log_size);
    auto *said = is_full || comes_too_fast(now)
                     ? nullptr
                     : static_cast<Said *>(::MemoryContextAllocExtended(
                           kept_log.memory, sizeof(Said), MCXT_ALLOC_NO_OOM));
    // Times increase strictly, so that messages of one microsecond keep their order.
    kept_log.last_time =
        std::max(now + settings::clock_offset.microseconds(), kept_log.last_time + 1);
    if (said == nullptr) {
        ++kept_log.left_out;
        return;
    }
    const char *message = copy(error.message);
    *said = {nullptr,
             kept_log.last_time,
             error.elevel,
             error.sqlerrcode,
             message == nullptr ? "" : message,
             copy(error.detail),
             copy(error.hint),
             copy(error.context)};
    *kept_log.end = said;
    kept_log.end = &said->next;
}

extern "C" void hipq_emit_log(ErrorData *error)
{
    if (is_listening) {
        if (settings::attempt_log && error->elevel >= INFO && error->elevel < ERROR)
            keep(*error);
        error->output_to_server = error->output_to_server && is_for_server(error->elevel);
    }
    if (previous_log_hook != nullptr && error->output_to_server)
        previous_log_hook(error);
}

void forget()
{
    if (kept_log.first != nullptr)
        ::MemoryContextReset(kept_log.memory);
    kept_log = {kept_log.memory, nullptr, &kept_log.first, 0, 0, 0};
}

const char *name_of_level(int level)
{
    return level == INFO ? "INFO" : level == NOTICE ? "NOTICE" : "WARNING";
}

// ---- ordinary C++ ----

std::optional<std::string> text_of(const char *text)
{
    return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

std::vector<job::LogEntry> entries()
{
    std::vector<job::LogEntry> list;
    for (const Said *said = kept_log.first; said != nullptr; said = said->next)
        list.push_back({pg::Time{said->time}, name_of_level(said->level),
                        ::unpack_sql_state(said->code), said->message, text_of(said->detail),
                        text_of(said->hint), text_of(said->context)});
    if (kept_log.left_out > 0)
        list.push_back({pg::Time{kept_log.last_time + 1}, "LOG", "00000",
                        std::to_string(kept_log.left_out) + " more messages were not kept",
                        std::nullopt,
                        "The bounds are hipq.attempt_log_size and hipq.attempt_log_rate."});
    return list;
}

}  // namespace

Listening::Listening() : level_before_(pg::own_log_level())
{
    level_of_server = level_before_;
    is_listening = settings::attempt_log_size > 0;
    if (is_listening && pg::own_log_level() > INFO)
        pg::own_log_level() = INFO;
}

// The handler may have set the level itself: then it stays.
Listening::~Listening()
{
    is_listening = false;
    if (pg::own_log_level() == INFO)
        pg::own_log_level() = level_before_;
}

AttemptLog::AttemptLog(const catalog::Queue &queue, const job::ClaimedJob &job)
    : before_(settings::attempt_log)
{
    pg::call([] { forget(); });
    const catalog::JobType *type = queue.find_job_type(job.type);
    if (type != nullptr)
        settings::attempt_log = type->attempt_log.value_or(before_);
}

AttemptLog::~AttemptLog()
{
    settings::attempt_log = before_;
}

void write_attempt_log(const catalog::Queue &queue, const job::ClaimedJob &job)
{
    if (kept_log.first == nullptr && kept_log.left_out == 0)
        return;
    pg::as_hipq([&] { job::write_log(queue.id, job.id, job.attempt, entries()); });
    pg::call([] { forget(); });
}

void listen_to_handlers()
{
    kept_log.memory =
        AllocSetContextCreate(TopMemoryContext, "hipq attempt log", ALLOCSET_SMALL_SIZES);
    previous_log_hook = emit_log_hook;
    emit_log_hook = hipq_emit_log;
}

}  // namespace hipq::execute
