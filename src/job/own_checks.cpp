// Checks whether a table has the CHECK constraints of hipq.job and no others.
//
// Compares the names and conditions of constraints, and caches the answers.
#include "job/own_checks.hpp"

#include "pg/known_table.hpp"

extern "C" {
#include "utils/ruleutils.h"
}

namespace hipq::job {

namespace {

// `condition` is the text that PostgreSQL prints. A constraint may have been replaced by another
// one of the same name.
struct OwnCheck {
    std::string_view name;
    std::string_view condition;
};

// In the order in which the relation cache keeps them.
constexpr std::array<OwnCheck, 2> own_checks{{
    {"job_state_is_consistent",
     "(((state <> 'initial'::hipq.job_state) OR ((attempt = 0) AND (retry_count = 0) AND "
     "(error = 'NONE'::text))) AND ((state = 'initial'::hipq.job_state) OR (attempt >= 1) OR "
     "(error <> 'NONE'::text)) AND ((state <> 'running'::hipq.job_state) OR "
     "(error = 'NONE'::text)) AND ((state <> ALL (ARRAY['error'::hipq.job_state, "
     "'retry'::hipq.job_state])) OR (error <> 'NONE'::text)))"},
    {"job_values_are_in_range",
     "(isfinite(scheduled_run_time) AND (expires_time <> '-infinity'::timestamp with time zone) "
     "AND (timeout > 0) AND (queue_ttl > 0) AND (max_retries >= 0) AND (retry_count >= 0) AND "
     "(throttle_factor >= (0)::numeric) AND (throttle_factor <> 'NaN'::numeric) AND "
     "((octet_length(job_type) >= 1) AND (octet_length(job_type) <= 63)) AND "
     "((octet_length(job_key) >= 1) AND (octet_length(job_key) <= 1000)) AND "
     "((octet_length(throttle_key) >= 1) AND (octet_length(throttle_key) <= 1000)))"},
}};
static_assert(std::is_sorted(own_checks.begin(), own_checks.end(),
                             [](const OwnCheck &a, const OwnCheck &b) { return a.name < b.name; }));

// Whether a table has its own checks only.
constinit pg::KnownRelations<1024> known_tables{};

bool has_own_names(const TupleConstr &constraints)
{
    return std::equal(
        own_checks.begin(), own_checks.end(), constraints.check,
        [](const OwnCheck &own, const ConstrCheck &check) { return own.name == check.ccname; });
}

// Compares the conditions by the names of columns, whatever their order.
bool has_own_conditions(Relation relation)
{
    List *names =
        ::deparse_context_for(RelationGetRelationName(relation), RelationGetRelid(relation));
    for (std::size_t i = 0; i < own_checks.size(); ++i) {
        auto *condition =
            static_cast<Node *>(::stringToNode(RelationGetDescr(relation)->constr->check[i].ccbin));
        if (own_checks[i].condition != ::deparse_expression(condition, names, false, false))
            return false;
    }
    return true;
}

// With this search_path, only PostgreSQL's own functions and types are printed without their
// schema.
bool has_own_conditions_by_pinned_path(Relation relation)
{
    const int level = ::NewGUCNestLevel();
    (void)::set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
                              GUC_ACTION_SAVE, true, 0, false);
    MemoryContext before = CurrentMemoryContext;
    MemoryContext memory = AllocSetContextCreate(before, "hipq checks", ALLOCSET_SMALL_SIZES);
    ::MemoryContextSwitchTo(memory);
    const bool result = has_own_conditions(relation);
    ::MemoryContextSwitchTo(before);
    ::MemoryContextDelete(memory);
    ::AtEOXact_GUC(true, level);
    return result;
}

bool look_at(Relation relation)
{
    const TupleConstr *constraints = RelationGetDescr(relation)->constr;
    return constraints != nullptr &&
           constraints->num_check == static_cast<int>(own_checks.size()) &&
           has_own_names(*constraints) && has_own_conditions_by_pinned_path(relation);
}

}  // namespace

bool has_own_checks_only(Relation relation)
{
    const Oid table = RelationGetRelid(relation);
    if (const auto known = known_tables.find(table))
        return *known;
    const bool own_only = look_at(relation);  // may bring invalidations
    known_tables.note(table, own_only);
    return own_only;
}

void forget_checks(Oid relation) noexcept
{
    known_tables.forget(relation);
}

}  // namespace hipq::job
