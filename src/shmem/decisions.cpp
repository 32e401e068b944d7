// The list of retry decisions to be made, and of dead letters to be handled.
#include "decisions.hpp"

#include "shmem/alerts.hpp"

namespace hipq::shmem {

namespace {

std::span<Decision> entries()
{
    return registry()->decisions;
}

bool is_for(const Decision &entry, Oid database, Oid role)
{
    return entry.job_id != 0 && entry.database == database && entry.role == role;
}

std::optional<Decision> take(Oid database, Oid role, bool is_dead_letter)
{
    const Lock lock(LW_EXCLUSIVE);
    if (registry()->decision_count == 0)
        return std::nullopt;
    for (Decision &entry : entries()) {
        if (!is_for(entry, database, role) || entry.is_dead_letter != is_dead_letter)
            continue;
        --registry()->decision_count;
        return std::exchange(entry, Decision{});
    }
    return std::nullopt;
}

}  // namespace

bool offer_decision(const Decision &decision)
{
    const Lock lock(LW_EXCLUSIVE);
    Decision *free_entry = nullptr;
    for (Decision &entry : entries()) {
        if (entry.job_id == decision.job_id && entry.database == decision.database &&
            entry.is_dead_letter == decision.is_dead_letter) {
            entry.role = decision.role;  // the queue may have got another owner
            return true;
        }
        if (entry.job_id == 0 && free_entry == nullptr)
            free_entry = &entry;
    }
    if (free_entry == nullptr) {
        note_alert(Alert::decisions_full);
        return false;
    }
    *free_entry = decision;
    ++registry()->decision_count;
    return true;
}

std::optional<Decision> take_decision(Oid database, Oid role)
{
    return take(database, role, false);
}

std::optional<Decision> take_dead_letter(Oid database, Oid role)
{
    return take(database, role, true);
}

void forget_decisions(Oid database) noexcept
{
    for (Decision &entry : entries()) {
        if (entry.job_id == 0 || entry.database != database)
            continue;
        entry = Decision{};
        --registry()->decision_count;
    }
}

bool has_decisions(Oid database, Oid role)
{
    const Lock lock(LW_SHARED);
    return std::any_of(entries().begin(), entries().end(), [&](const Decision &entry) { return is_for(entry, database, role); });
}

}  // namespace hipq::shmem
