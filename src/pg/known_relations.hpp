// What was found out about relations, by Oid: a yes or no each, kept until they change.
#pragma once

#include "pg/postgres.hpp"

#include <array>
#include <optional>

namespace hipq::pg {

// A relation has one place where it can be. One that another has taken its place from is looked at
// again.
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
