// Facts about relations that each process caches until they change: tables of schema hipq by name,
// and a yes or no for any relation by OID.
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

// Null: there is no such table. The result is valid until the next catalog access. A caller that
// opens the table finds out whether it still exists. Call inside pg::call() only.
KnownTable *known_table(const char *name);

// After an invalidation; InvalidOid: of everything. Straight-line code.
void forget_known_table(Oid relation) noexcept;

// A yes or no for each relation. Each relation has a single slot; if another relation has taken it,
// the caller must determine the answer again.
template <std::size_t place_count>
class KnownRelations {
public:
    // Nothing: the answer is not cached.
    std::optional<bool> find(Oid relation) const
    {
        const Known &known = places_[relation % place_count];
        return known.relation == relation ? std::optional(known.answer) : std::nullopt;
    }

    void note(Oid relation, bool answer) { places_[relation % place_count] = {relation, answer}; }

    // After an invalidation; InvalidOid: of everything.
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
