// Keeps an apply worker's failure in shared memory, beside those of the scheduler.
//
// An error ends the apply worker, and another one begins with the same row. So a process that has
// committed once knows that nothing is left to clear.
#include "shards/trouble.hpp"

#include "shared/databases/database_slots.hpp"
#include "shared/databases/duties_set_aside.hpp"

extern "C" {
#include "access/xact.h"
#include "common/hashfn.h"
}

extern "C" void hipq_letter_committed(XactEvent event, void *argument);

namespace hipq::shards {

namespace {

enum class Clearing : unsigned char { not_asked, asked, at_commit, done };
constinit Clearing clearing = Clearing::not_asked;
constinit std::int32_t place_to_clear = 0;

// Entries of queues have their numbers; those of letters have a number below 0 for each sender.
std::int32_t place_of(const Letter &letter)
{
    const std::uint32_t hash = pg::call([&] {
        return ::hash_bytes(reinterpret_cast<const unsigned char *>(letter.instance.data()),
                            static_cast<int>(letter.instance.size()));
    });
    return -1 - static_cast<std::int32_t>((hash << 10 | static_cast<std::uint32_t>(letter.sender)) &
                                          0x3fff'ffff);
}

std::string named(const Letter &letter)
{
    const std::string sender =
        letter.sender == 0 ? "the router" : "shard " + std::to_string(letter.sender);
    return sender + " of instance \"" + letter.instance + "\"" +
           (letter.queue.empty() ? " (" + letter.kind + ")"
                                 : " (" + letter.kind + " of queue \"" + letter.queue + "\")");
}

// Straight-line code: nothing here may raise.
void end_transaction(XactEvent event) noexcept
{
    if (event == XACT_EVENT_ABORT && clearing == Clearing::at_commit)
        clearing = Clearing::asked;
    if (event != XACT_EVENT_COMMIT || clearing != Clearing::at_commit)
        return;
    clearing = Clearing::done;
    databases::clear_set_aside(core::Duty::letters, place_to_clear);
    databases::look_due(MyDatabaseId, pg::Time{::GetCurrentTimestamp()});
}

}  // namespace

void note_trouble(const Letter &letter, const pg::Error &error)
{
    databases::note_set_aside(core::Duty::letters, place_of(letter), core::Trouble::failed,
                              named(letter) + ": " + error.message() + " (SQLSTATE " +
                                  error.sqlstate() + ")");
    databases::look_due(MyDatabaseId, pg::Time{::GetCurrentTimestamp()});
}

void note_success(const Letter &letter)
{
    if (clearing == Clearing::done)
        return;
    if (clearing == Clearing::not_asked)
        pg::call([] { ::RegisterXactCallback(hipq_letter_committed, nullptr); });
    clearing = Clearing::at_commit;
    place_to_clear = place_of(letter);
}

}  // namespace hipq::shards

void hipq_letter_committed(XactEvent event, void *)
{
    hipq::shards::end_transaction(event);
}
