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

// In the order in which the relation cache keeps them.
constexpr std::array<std::string_view, 14> own_checks{
    "job_error_and_retry_have_an_error",
    "job_expires_time_is_a_time",
    "job_initial_has_not_been_tried",
    "job_key_is_short",
    "job_max_retries_is_not_negative",
    "job_past_initial_has_been_tried_or_failed",
    "job_queue_ttl_is_positive",
    "job_retry_count_is_not_negative",
    "job_running_has_no_error",
    "job_scheduled_run_time_is_finite",
    "job_throttle_factor_is_not_negative",
    "job_throttle_key_is_short",
    "job_timeout_is_positive",
    "job_type_is_short",
};
static_assert(std::is_sorted(own_checks.begin(), own_checks.end()));

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

}  // namespace

bool has_own_checks_only(Relation relation)
{
    const TupleConstr *constraints = RelationGetDescr(relation)->constr;
    if (constraints == nullptr || constraints->num_check != static_cast<int>(own_checks.size()))
        return false;
    return std::equal(own_checks.begin(), own_checks.end(), constraints->check,
                      [](std::string_view own, const ConstrCheck &check) { return own == check.ccname; });
}

// A constraint that somebody has added to the queue's table, or to hipq.job, is its leaves' too.
bool is_plain(Relation leaf)
{
    return leaf->rd_rel->relkind == RELKIND_RELATION && has_guard_only(leaf) && !has_generated_column(leaf) &&
           count_columns(leaf) == static_cast<int>(core::column_count) && has_own_checks_only(leaf);
}

Relation open_table(const char *name, LOCKMODE lock)
{
    const KnownTable *table = known_table(name);
    return table == nullptr ? nullptr : ::table_open(table->oid, lock);
}

}  // namespace hipq::storage
