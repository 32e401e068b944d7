// Finds out which indexes of a leaf contain only jobs with a key.
//
// Reads the predicate of the index, and keeps a small cache of the answers.
#include "job/key_index.hpp"

#include "pg/known_table.hpp"

extern "C" {
#include "access/genam.h"
#include "nodes/primnodes.h"
#include "utils/fmgroids.h"
}

namespace hipq::job {

namespace {

// Whether an index is only over jobs with a key.
constinit pg::KnownRelations<64> known_indexes{};

bool is_none(const Node *node)
{
    if (!IsA(node, Const))
        return false;
    const auto *constant = reinterpret_cast<const Const *>(node);
    if (constant->consttype != TEXTOID || constant->constisnull)
        return false;
    const ::text *value = DatumGetTextPP(constant->constvalue);
    return VARSIZE_ANY_EXHDR(value) == 4 && std::memcmp(VARDATA_ANY(value), "NONE", 4) == 0;
}

bool is_column(const Node *node, AttrNumber column)
{
    return IsA(node, Var) && reinterpret_cast<const Var *>(node)->varattno == column;
}

bool wants_keys(const List *predicate, AttrNumber job_key)
{
    if (list_length(predicate) != 1 || !IsA(linitial(predicate), OpExpr))
        return false;
    const auto *unequal = linitial_node(OpExpr, predicate);
    return unequal->opfuncid == F_TEXTNE &&
           is_column(static_cast<const Node *>(linitial(unequal->args)), job_key) &&
           is_none(static_cast<const Node *>(lsecond(unequal->args)));
}

bool look_at(Oid index, AttrNumber job_key)
{
    Relation relation = ::index_open(index, AccessShareLock);
    const bool result = wants_keys(::RelationGetIndexPredicate(relation), job_key);
    ::index_close(relation, AccessShareLock);
    return result;
}

}  // namespace

bool holds_keys_only(Oid index, AttrNumber job_key)
{
    if (const auto known = known_indexes.find(index))
        return *known;
    const bool keys_only = look_at(index, job_key);  // may bring invalidations
    known_indexes.note(index, keys_only);
    return keys_only;
}

void forget_key_index(Oid relation) noexcept
{
    known_indexes.forget(relation);
}

}  // namespace hipq::job
