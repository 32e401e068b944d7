// The notes of the current transaction, and the commit callback that passes them on.
//
// The callback runs after the rows are visible and before locks go. It uses fixed memory, allocates nothing and cannot fail. A
// rolled back savepoint may leave a superfluous note: a wake-up for nothing.
#include "wake.hpp"

#include "pg/clock.hpp"
#include "shmem/databases.hpp"
#include "shmem/executors.hpp"

namespace hipq::shmem {

namespace {

struct Note {
    Oid owner;
    pg::Time due;
    pg::Time expires;
    std::int64_t count;
};

// More queue owners in one transaction than this: the rest leaves it to the scheduler.
constexpr std::size_t max_notes = 8;
constinit std::array<Note, max_notes> notes{};
constinit std::size_t note_count = 0;
constinit bool scheduler_must_look = false;

void forget()
{
    note_count = 0;
    scheduler_must_look = false;
}

void pass_on(const Note &note, pg::Time now)
{
    // One job that is due and an idle executor: it needs nobody else. Otherwise the scheduler sees to it.
    const bool served = note.due <= now && wake_idle_executor(MyDatabaseId, note.owner);
    if (!served || note.count > 1)
        work_due(MyDatabaseId, note.due);
    if (note.expires != pg::infinity)
        work_due(MyDatabaseId, note.expires);
}

void pass_on_all()
{
    const pg::Time now = pg::now();
    if (scheduler_must_look)
        work_due(MyDatabaseId, pg::Time{0});
    for (std::size_t i = 0; i < note_count; ++i)
        pass_on(notes[i], now);
}

extern "C" void hipq_transaction_ends(XactEvent event, void *)
{
    if (event == XACT_EVENT_COMMIT) {
        if (note_count > 0 || scheduler_must_look)
            pass_on_all();
        forget();
    } else if (event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE) {
        forget();
    }
}

}  // namespace

void note_waiting(Oid owner, pg::Time due, pg::Time expires)
{
    for (std::size_t i = 0; i < note_count; ++i) {
        if (notes[i].owner != owner)
            continue;
        notes[i].due = std::min(notes[i].due, due);
        notes[i].expires = std::min(notes[i].expires, expires);
        ++notes[i].count;
        return;
    }
    if (note_count < max_notes)
        notes[note_count++] = Note{owner, due, expires, 1};
    else
        scheduler_must_look = true;
}

void note_catalogue_change()
{
    scheduler_must_look = true;
}

void watch_commits()
{
    ::RegisterXactCallback(hipq_transaction_ends, nullptr);
}

}  // namespace hipq::shmem
