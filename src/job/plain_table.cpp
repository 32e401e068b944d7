// Checks whether a leaf is as hipq created it.
//
// Reads only the relation cache.
#include "job/plain_table.hpp"

#include "job/own_checks.hpp"
#include "pg/known_table.hpp"

namespace hipq::job {

namespace {

int count_columns(Relation relation)
{
    const TupleDesc descriptor = RelationGetDescr(relation);
    int count = 0;
    for (int i = 0; i < descriptor->natts; ++i)
        count += TupleDescAttr(descriptor, i)->attisdropped ? 0 : 1;
    return count;
}

bool has_generated_column(Relation relation)
{
    const TupleConstr *constraints = RelationGetDescr(relation)->constr;
    return constraints != nullptr && constraints->has_generated_stored;
}

bool has_guard_only(Relation relation)
{
    const TriggerDesc *triggers = relation->trigdesc;
    return triggers != nullptr && triggers->numtriggers == 1 &&
           std::strcmp(triggers->triggers[0].tgname, "guard_job") == 0;
}

}  // namespace

// A constraint that a user has added to the queue's table or to hipq.job also applies to its
// leaves.
bool is_plain(Relation leaf)
{
    return leaf->rd_rel->relkind == RELKIND_RELATION && has_guard_only(leaf) &&
           !has_generated_column(leaf) &&
           count_columns(leaf) == static_cast<int>(core::column_count) && has_own_checks_only(leaf);
}

Relation open_table(const char *name, LOCKMODE lock)
{
    const pg::KnownTable *table = pg::known_table(name);
    return table == nullptr ? nullptr : ::table_open(table->oid, lock);
}

}  // namespace hipq::job
