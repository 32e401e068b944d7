// What the conditions of a query in planning say about a column. Call inside pg::call() only.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "nodes/pathnodes.h"
}

namespace hipq::monitor {

// The value, or array of values, that a column is equal to. If value is null, the condition does
// not say.
struct Asked {
    Node *value;
    bool is_array;
};

// Returns the other side of an equality (of integers or texts) with `column`.
Asked equal_to(Node *condition, Node *column);

// Returns the conditions that all rows of a query must meet, including pushed-down ones, before or
// during planning.
List *conditions_of(const PlannerInfo *root);

// The numbers that an integer column can have by the conditions of its query, or of the outer query
// if that has an equal column; NIL and false: any.
struct KnownNumbers {
    bool are_known;
    List *numbers;  // of integers
};
KnownNumbers known_numbers(const PlannerInfo *root, Node *column);

// Returns the ids that a query selects by "id = ..." or "id = ANY (...)", as an expression of type
// bigint[] that does not depend on rows; null if it selects none that way.
Node *asked_ids(PlannerInfo *root);

}  // namespace hipq::monitor
