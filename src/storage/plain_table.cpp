// Looks at the relation cache alone.
#include "plain_table.hpp"

#include "storage/known_table.hpp"

namespace hipq::storage {

namespace {

int count_columns(Relation relation)
{
    const TupleDesc descriptor = RelationGetDescr(relation);
    int count = 0;
    for (int i = 0; i < descriptor->natts; ++i)
        count += TupleDescAttr(descriptor, i)->attisdropped ? 0 : 1;
    return count;
}

int count_checks(Relation relation)
{
    const TupleConstr *constraints = RelationGetDescr(relation)->constr;
    return constraints == nullptr ? 0 : constraints->num_check;
}

bool has_generated_column(Relation relation)
{
    const TupleConstr *constraints = RelationGetDescr(relation)->constr;
    return constraints != nullptr && constraints->has_generated_stored;
}

bool has_guard_only(Relation relation)
{
    const TriggerDesc *triggers = relation->trigdesc;
    return triggers != nullptr && triggers->numtriggers == 1 && std::strcmp(triggers->triggers[0].tgname, "guard_job") == 0;
}

bool looks_plain(Relation leaf)
{
    return leaf->rd_rel->relkind == RELKIND_RELATION && has_guard_only(leaf) && !has_generated_column(leaf) &&
           count_columns(leaf) == static_cast<int>(core::column_count);
}

// Of a table whose leaf is locked: so it gets no further ones, which its leaves would have to get too. -1: there is no such
// table.
int known_checks(const char *model)
{
    if (const KnownTable *known = known_table(model); known != nullptr && known->checks >= 0)
        return known->checks;
    Relation relation = open_table(model, AccessShareLock);
    if (relation == nullptr)
        return -1;
    const int checks = count_checks(relation);
    if (KnownTable *known = known_table(model); known != nullptr)
        known->checks = checks;
    ::table_close(relation, AccessShareLock);
    return checks;
}

}  // namespace

bool is_plain(Relation leaf, Relation model)
{
    return looks_plain(leaf) && count_checks(leaf) == count_checks(model);
}

bool is_plain(Relation leaf, const char *model)
{
    if (!looks_plain(leaf))
        return false;
    const int checks = known_checks(model);
    return checks >= 0 && count_checks(leaf) == checks;
}

Relation open_table(const char *name, LOCKMODE lock)
{
    const KnownTable *table = known_table(name);
    return table == nullptr ? nullptr : ::table_open(table->oid, lock);
}

}  // namespace hipq::storage
