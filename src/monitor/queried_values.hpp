// What the conditions of a query that is being planned say of a column: PostgreSQL regime.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

namespace hipq::monitor {

// What a column is equal to, or one of the elements of which it is equal to. value is null:
// nothing is said of it.
struct Asked {
    Node *value;
    bool is_array;
};

// The side that a comparison for equality (of integers, or of texts) has beside `column`.
Asked equal_to(Node *condition, Node *column);

// The conditions that all rows of a query have to meet, with what PostgreSQL has pushed down into
// it: as they are before it is planned, or while it is.
List *conditions_of(const PlannerInfo *root);

// The numbers that an integer column can have by the conditions of its query, or of the one around
// it if that has an equal column; NIL and false: any.
struct KnownNumbers {
    bool are_known;
    List *numbers;  // of integers
};
KnownNumbers known_numbers(const PlannerInfo *root, Node *column);

// The ids that a query asks for by "id = ..." or "id = ANY (...)", as an expression of type
// bigint[] that no row has to do with; null: it does not.
Node *asked_ids(PlannerInfo *root);

}  // namespace hipq::monitor
