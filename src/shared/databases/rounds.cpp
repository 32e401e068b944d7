// Keeps the ends of rounds in shared memory, by the scheduler's slot.
//
// Only the scheduler that owns the slot reads and writes its entry, so there is no lock.
#include "shared/databases/rounds.hpp"

#include "shared/databases/own_slot.hpp"

namespace hipq::databases {

namespace {

struct Round {
    Oid database;  // the slot may have belonged to another database
    pg::Time end;
};

constinit Round *rounds = nullptr;

constexpr Size rounds_size = sizeof(Round) * memory::max_databases;

void request_rounds()
{
    ::RequestAddinShmemSpace(rounds_size);
}

void set_up_rounds()
{
    bool found = false;
    rounds = static_cast<Round *>(::ShmemInitStruct("hipq rounds", rounds_size, &found));
    if (!found)
        std::memset(static_cast<void *>(rounds), 0, rounds_size);
}

// A new database may get the same OID, with other queues.
void forget_round(Oid database) noexcept
{
    for (Round &round : std::span(rounds, memory::max_databases))
        if (round.database == database)
            round = Round{};
}

}  // namespace

pg::Time last_round()
{
    const int slot = own_database_slot();
    return slot >= 0 && rounds[slot].database == MyDatabaseId ? rounds[slot].end : pg::Time{0};
}

void round_done(pg::Time end)
{
    if (const int slot = own_database_slot(); slot >= 0)
        rounds[slot] = {MyDatabaseId, end};
}

constinit const memory::Part rounds_part{request_rounds, set_up_rounds, nullptr, forget_round};

}  // namespace hipq::databases
