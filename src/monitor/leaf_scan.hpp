// Reads the rows of one leaf without a plan: through an index if one serves the conditions, else
// the whole leaf.
//
// Call inside pg::call() only.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "access/relscan.h"
#include "access/tableam.h"
}

namespace hipq::monitor {

constexpr int most_equalities = 8;

// A condition "column = value", or "column = ANY (value)". The comparison is an equality operator
// of a btree operator family, the collation that of the comparison.
struct Equality {
    const char *column;
    Oid comparison;
    Oid collation;
    bool is_array;
    Datum value;
};

// An open scan. The caller checks the conditions itself: these only spare reading.
class LeafScan {
public:
    // At most most_equalities. Returns false if the leaf does not exist, or if an index says that
    // it has no such row. Then the scan is not open, no table has been opened, and no lock is kept:
    // some 10 us. Waits for locks. Uses the active snapshot.
    bool begin(Oid leaf, std::span<const Equality> equalities);
    // Null: there are no more rows.
    TupleTableSlot *next();
    // Keeps the lock on the leaf until the end of the transaction, as a statement does.
    void end();
    bool is_open() const { return leaf_ != nullptr; }
    Relation leaf() const { return leaf_; }

private:
    Relation leaf_ = nullptr;
    Relation index_ = nullptr;
    IndexScanDesc entries_ = nullptr;  // null: the whole leaf is read
    TableScanDesc rows_ = nullptr;
    TupleTableSlot *slot_ = nullptr;
};

// Returns the leaves of a queue in the order of their OIDs, by the name of its table: the live one,
// those of final jobs, or both. Locks nothing. Leaves may be gone by the time that they are read.
enum class Leaves : std::uint8_t { live, final, all };
List *leaves_of(const char *table, const char *live_leaf, Leaves which);

}  // namespace hipq::monitor
