// What each process keeps in mind of tables until they change: those of schema hipq by name, and
// a yes or no of any relation by Oid.
#pragma once

#include "pg/postgres.hpp"

#include <array>
#include <optional>

namespace hipq::pg {

struct KnownTable {
    NameData name;
    Oid oid;
    Oid row_type;
};

// Null: there is none. What is returned is good until the next look at a catalogue. Whoever opens
// the table finds out whether it is still there. PostgreSQL regime.
KnownTable *known_table(const char *name);

// After an invalidation; InvalidOid: of everything. Straight-line code.
void forget_known_table(Oid relation) noexcept;

// A yes or no for each relation. A relation has one place; if another relation has taken it, the
// answer has to be found out again.
template <std::size_t place_count>
class KnownRelations {
public:
    // Nothing: it has to be looked at.
    std::optional<bool> find(Oid relation) const
    {
        const Known &known = places_[relation % place_count];
        return known.relation == relation ? std::optional(known.answer) : std::nullopt;
    }

    void note(Oid relation, bool answer) { places_[relation % place_count] = {relation, answer}; }

    // After an invalidation; InvalidOid: everything.
    void forget(Oid relation) noexcept
    {
        if (!OidIsValid(relation))
            places_.fill({});
        else if (find(relation).has_value())
            places_[relation % place_count] = {};
    }

private:
    struct Known {
        Oid relation;
        bool answer;
    };
    std::array<Known, place_count> places_{};
};

}  // namespace hipq::pg
