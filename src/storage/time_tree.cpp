// Makes, fills and drops the leaves of tables cut by time.
//
// What reads such a tree locks all its leaves, and DDL on it wants some of them for itself. A process that waits for a lock makes
// everybody who comes later wait too, so no step here waits: it tries without waiting a few times, and at last waits for 100 ms.
#include "time_tree.hpp"

#include <chrono>

#include "pg/clock.hpp"
#include "pg/point.hpp"
#include "pg/transaction.hpp"
#include "settings.hpp"
#include "storage/permit.hpp"
#include "storage/quote.hpp"
#include "storage/reluctant_lock.hpp"

namespace hipq::storage {

namespace {

constexpr std::int64_t unix_epoch_to_postgres = 946'684'800'000'000;  // microseconds from 1970 to 2000
constexpr std::int64_t microseconds_per_minute = 60'000'000;
// Rows that expire in the default leaf go in portions, so that no transaction is long.
constexpr int rows_per_prune = 10'000;

// "2026-11-21 13:05:00+00"
std::string literal_of(std::int64_t time)
{
    namespace chrono = std::chrono;
    const chrono::sys_time<chrono::microseconds> point{chrono::microseconds{time}};
    const auto midnight = chrono::floor<chrono::days>(point);
    const chrono::year_month_day date{midnight};
    const chrono::hh_mm_ss clock{point - midnight};
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "'%04d-%02u-%02u %02d:%02d:%02d.%06d+00'", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                  static_cast<int>(clock.minutes().count()), static_cast<int>(clock.seconds().count()),
                  static_cast<int>(clock.subseconds().count()));
    return text.data();
}

pg::Time postgres_time(std::int64_t unix_time)
{
    return pg::Time{unix_time - unix_epoch_to_postgres};
}

struct Leaf {
    Oid oid;
    std::string name;
    std::optional<core::Period> period;  // nothing: the default leaf
};

struct Tree {
    Oid parent = InvalidOid;
    std::vector<Leaf> leaves;

    const Leaf *default_leaf() const
    {
        for (const Leaf &leaf : leaves)
            if (!leaf.period.has_value())
                return &leaf;
        return nullptr;
    }
    std::optional<std::int64_t> covered_until() const
    {
        std::optional<std::int64_t> latest;
        for (const Leaf &leaf : leaves)
            if (leaf.period.has_value() && (!latest.has_value() || leaf.period->end > *latest))
                latest = leaf.period->end;
        return latest;
    }
};

constinit pg::Statement select_leaves(R"(
    SELECT leaf.oid, leaf.relname::text,
           (extract(epoch FROM (bound.texts)[1]::timestamptz) * 1000000)::bigint,
           (extract(epoch FROM (bound.texts)[2]::timestamptz) * 1000000)::bigint
    FROM pg_inherits
    JOIN pg_class AS leaf ON leaf.oid = inhrelid
    CROSS JOIN LATERAL regexp_match(pg_get_expr(leaf.relpartbound, leaf.oid),
                                    '^FOR VALUES FROM \(''([^'']+)''\) TO \(''([^'']+)''\)$') AS bound(texts)
    WHERE inhparent = $1
    ORDER BY 3)");

Oid relation_oid(const std::string &name)
{
    return pg::call([&] {
        const Oid schema = ::get_namespace_oid("hipq", true);
        return OidIsValid(schema) ? ::get_relname_relid(name.c_str(), schema) : InvalidOid;
    });
}

// Bounds are printed and read in the session's style: a style that loses nothing, for this transaction.
void pin_time_format()
{
    pg::call([] {
        for (const auto *setting : {"TimeZone", "DateStyle"})
            (void)::set_config_option(setting, setting[0] == 'T' ? "UTC" : "ISO", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_LOCAL,
                                      true, 0, false);
    });
}

// Own transaction.
Tree read_tree(const std::string &parent)
{
    Tree tree;
    pg::with_transaction([&] {
        pin_time_format();
        tree.parent = relation_oid(parent);
        if (!OidIsValid(tree.parent))
            return;
        pg::as_extension_owner([&] {
            for (const pg::Row row : select_leaves.run(tree.parent)) {
                Leaf leaf{row.oid(0), row.text(1), std::nullopt};
                if (!row.null(2))
                    leaf.period = core::Period{row.integer(2), row.integer(3)};
                tree.leaves.push_back(std::move(leaf));
            }
        });
    });
    return tree;
}

void make_indexes(const TimeTree &tree, const std::string &leaf)
{
    if (!tree.has_key_index) {
        pg::run_once("CREATE INDEX " + quote_name(leaf + "_job_id") + " ON " + quote_table(leaf) + " (job_id, attempt)");
        return;
    }
    pg::run_once("CREATE UNIQUE INDEX " + quote_name(leaf + "_id") + " ON " + quote_table(leaf) + " (id)");
    pg::run_once("CREATE INDEX " + quote_name(leaf + "_key") + " ON " + quote_table(leaf) +
                 " (job_type, job_key) WHERE job_key <> 'NONE'");
}

void make_detached_leaf(const TimeTree &tree, const std::string &leaf, const std::string &comment)
{
    pg::run_once("CREATE TABLE " + quote_table(leaf) + " (LIKE " + quote_table(tree.parent) +
                 " INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING COMMENTS)");
    strip_grants(leaf);
    make_indexes(tree, leaf);
    pg::run_once("COMMENT ON TABLE " + quote_table(leaf) + " IS " + quote_literal(comment));
}

void attach(const TimeTree &tree, const std::string &leaf, const std::string &bound)
{
    pg::run_once("ALTER TABLE " + quote_table(tree.parent) + " ATTACH PARTITION " + quote_table(leaf) + " " + bound);
}

std::string leaf_name(const TimeTree &tree, const core::Period &period)
{
    return tree.parent + "_" + core::leaf_suffix(period);
}

void make_default_leaf(const TimeTree &tree)
{
    const std::string leaf = tree.parent + "_default";
    make_detached_leaf(tree, leaf, "rows of " + tree.parent + " for whose time no leaf was there");
    attach(tree, leaf, "DEFAULT");
}

// Rows of the period that had to go to the default leaf move, or the leaf could not be attached.
void make_leaf(const TimeTree &tree, const core::Period &period, const Leaf *default_leaf)
{
    const std::string leaf = leaf_name(tree, period);
    make_detached_leaf(tree, leaf,
                       "rows of " + tree.parent + " with " + tree.time_column + " from " + literal_of(period.start) + " to " +
                           literal_of(period.end));
    if (default_leaf != nullptr) {
        const std::string column = quote_name(tree.time_column);
        pg::run_once("WITH moved AS (DELETE FROM ONLY " + quote_table(default_leaf->name) + " WHERE " + column + " >= $1 AND " +
                         column + " < $2 RETURNING *) INSERT INTO " + quote_table(leaf) + " SELECT * FROM moved",
                     postgres_time(period.start), postgres_time(period.end));
    }
    attach(tree, leaf, "FOR VALUES FROM (" + literal_of(period.start) + ") TO (" + literal_of(period.end) + ")");
}

// Who holds the tree once in a pass most likely still does: after the first failure steps are tried once each.
Patience patience_after(bool all_done)
{
    return all_done ? Patience::patient : Patience::hasty;
}

// Each of these returns whether the step is done.
bool drop_leaf(const Tree &tree, const Leaf &leaf, Patience patience)
{
    std::vector<Oid> locked{tree.parent, leaf.oid};
    if (const Leaf *default_leaf = tree.default_leaf(); default_leaf != nullptr)
        locked.push_back(default_leaf->oid);
    return with_reluctant_locks(locked, patience, [&] {
        HIPQ_POINT("before-drop-leaf");
        if (relation_oid(leaf.name) == leaf.oid)
            as_hipq([&] { pg::run_once("DROP TABLE " + quote_table(leaf.name)); });
        HIPQ_POINT("after-drop-leaf");
    });
}

bool add_leaf(const TimeTree &tree, const Tree &state, const core::Period &period, Patience patience)
{
    const Leaf *default_leaf = state.default_leaf();
    std::vector<Oid> locked{state.parent};
    if (default_leaf != nullptr)
        locked.push_back(default_leaf->oid);
    return with_reluctant_locks(locked, patience, [&] {
        HIPQ_POINT("before-make-leaf");
        if (relation_oid(tree.parent) == state.parent && !OidIsValid(relation_oid(leaf_name(tree, period))))
            as_hipq([&] { make_leaf(tree, period, default_leaf); });
        HIPQ_POINT("after-make-leaf");
    });
}

bool add_default_leaf(const TimeTree &tree, const Tree &state)
{
    return with_reluctant_locks({state.parent}, Patience::patient, [&] {
        if (relation_oid(tree.parent) == state.parent && !OidIsValid(relation_oid(tree.parent + "_default")))
            as_hipq([&] { make_default_leaf(tree); });
    });
}

// Rows past retention that stand in the default leaf. True: none is left.
bool prune_default_leaf(const TimeTree &tree, const Leaf &leaf, std::int64_t now)
{
    std::uint64_t removed = 0;
    const std::string table = quote_table(leaf.name);
    pg::with_transaction([&] {
        as_hipq([&] {
            removed =
                pg::run_once("DELETE FROM ONLY " + table + " WHERE ctid = ANY (ARRAY(SELECT ctid FROM ONLY " + table + " WHERE " +
                                 quote_name(tree.time_column) + " <= $1 LIMIT " + std::to_string(rows_per_prune) + "))",
                             postgres_time(now - tree.retention))
                    .processed();
        });
    });
    return removed < rows_per_prune;
}

}  // namespace

std::int64_t unix_now()
{
    return pg::now().value + unix_epoch_to_postgres;
}

void strip_grants(std::string_view table)
{
    static constinit pg::Statement select_grantees(R"(
        SELECT DISTINCT CASE acl.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(acl.grantee)) END
        FROM pg_class AS relation
        CROSS JOIN aclexplode(relation.relacl) AS acl
        WHERE relation.relnamespace = 'hipq'::regnamespace AND relation.relname = $1 AND acl.grantee <> relation.relowner)");
    for (const pg::Row row : select_grantees.run(table))
        pg::run_once("REVOKE ALL ON TABLE " + quote_table(table) + " FROM " + row.text(0));
}

TimeTree attempt_tree()
{
    return {"attempt", "ended_time", settings::retention * microseconds_per_minute, false};
}

TimeTree final_tree(const Queue &queue)
{
    return {queue.table + "_final", "update_time", queue.retention, true};
}

void make_leaves(const TimeTree &tree)
{
    make_default_leaf(tree);
    for (const core::Period &period : core::missing_periods(unix_now(), core::period_length(tree.retention), std::nullopt))
        make_leaf(tree, period, nullptr);
}

void make_attempt_leaves_once()
{
    if (!OidIsValid(relation_oid("attempt_default")))
        make_leaves(attempt_tree());
}

bool maintain_time_tree(const TimeTree &tree)
{
    const Tree state = read_tree(tree.parent);
    if (!OidIsValid(state.parent))
        return true;
    const std::int64_t present = unix_now();
    bool done = true;
    for (const Leaf &leaf : state.leaves)
        if (leaf.period.has_value() && core::is_due(*leaf.period, present, tree.retention))
            done = drop_leaf(state, leaf, patience_after(done)) && done;
    if (state.default_leaf() == nullptr)
        return add_default_leaf(tree, state) && done;  // the leaves follow in the next pass
    for (const core::Period &period : core::missing_periods(present, core::period_length(tree.retention), state.covered_until()))
        if (!add_leaf(tree, state, period, patience_after(done)))
            return false;  // a later leaf would cover this one's time
    return prune_default_leaf(tree, *state.default_leaf(), present) && done;
}

}  // namespace hipq::storage
