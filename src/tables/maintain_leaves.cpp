// Maintains the leaves of tables that are partitioned by time: adds missing leaves, drops leaves
// that are due.
//
// A query on such a tree locks all its leaves, and DDL on the tree needs some of them exclusively;
// try_lock.hpp ensures that no process waits for that. As little as possible is done while the
// locks are held.
#include "tables/maintain_leaves.hpp"

#include "pg/internal_write.hpp"
#include "pg/point.hpp"
#include "pg/quote.hpp"
#include "pg/transaction.hpp"
#include "settings.hpp"
#include "tables/make_leaf.hpp"
#include "tables/try_lock.hpp"

namespace hipq::tables {

namespace {

constexpr std::int64_t microseconds_per_minute = 60'000'000;
// Expired rows are deleted from the default leaf in batches, so that no transaction is long.
constexpr int rows_per_prune = 10'000;
// The most rows to move out of the default leaf: other processes wait while they move.
constexpr int rows_per_move = 1'000;

struct Leaf {
    Oid oid;
    std::string name;
    std::optional<core::Period> period;  // nothing: the default leaf
    bool has_identity = true;
};

struct Tree {
    Oid parent = InvalidOid;
    std::vector<Leaf> leaves;
    bool is_unused = false;  // its only leaf is the default leaf, which has never had a row

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
           (extract(epoch FROM (bound.texts)[2]::timestamptz) * 1000000)::bigint,
           leaf.relreplident = 'f'
    FROM pg_inherits
    JOIN pg_class AS leaf ON leaf.oid = inhrelid
    CROSS JOIN LATERAL regexp_match(pg_get_expr(leaf.relpartbound, 0),
                                    '^FOR VALUES FROM \(''([^'']+)''\) TO \(''([^'']+)''\)$') AS bound(texts)
    WHERE inhparent = $1
    ORDER BY 3)");

// Bounds are printed and parsed in the session's date style. Sets one that loses nothing, for this
// transaction.
void pin_time_format()
{
    pg::call([] {
        for (const auto *setting : {"TimeZone", "DateStyle"})
            (void)::set_config_option(setting, setting[0] == 'T' ? "UTC" : "ISO", PGC_USERSET,
                                      PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0, false);
    });
}

bool has_never_had_a_row(const Leaf &leaf)
{
    static constinit pg::Statement select_size("SELECT pg_relation_size($1)");
    return select_size.run(leaf.oid).front().integer(0) == 0;
}

// Runs its own transaction.
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
                Leaf leaf{row.oid(0), row.text(1), std::nullopt, row.boolean(4)};
                if (!row.null(2))
                    leaf.period = core::Period{row.integer(2), row.integer(3)};
                tree.leaves.push_back(std::move(leaf));
            }
            tree.is_unused = tree.leaves.size() == 1 && tree.default_leaf() != nullptr &&
                             has_never_had_a_row(tree.leaves.front());
        });
    });
    return tree;
}

// Counts the rows of the period in the default leaf, up to `limit`.
std::int64_t count_in_default(const TimeTree &tree, const core::Period &period,
                              const Leaf &default_leaf, int limit)
{
    const std::string column = pg::quote_name(tree.time_column);
    return pg::run_once("SELECT count(*) FROM (SELECT FROM ONLY " +
                            pg::quote_table(default_leaf.name) + " WHERE " + column +
                            " >= $1 AND " + column + " < $2 LIMIT " + std::to_string(limit) +
                            ") AS counted",
                        postgres_time(period.start), postgres_time(period.end))
        .front()
        .integer(0);
}

// Moves the rows of the period out of the default leaf; otherwise the new leaf could not be
// attached. Usually there are none, and a look is cheaper than a plan for two tables.
void move_rows(const TimeTree &tree, const core::Period &period, const Leaf &default_leaf)
{
    if (count_in_default(tree, period, default_leaf, 1) == 0)
        return;
    const std::string column = pg::quote_name(tree.time_column);
    pg::run_once("WITH moved AS (DELETE FROM ONLY " + pg::quote_table(default_leaf.name) +
                     " WHERE " + column + " >= $1 AND " + column +
                     " < $2 RETURNING *) INSERT INTO " + pg::quote_table(leaf_name(tree, period)) +
                     " SELECT * FROM moved",
                 postgres_time(period.start), postgres_time(period.end));
}

// ATTACH PARTITION reads the bounds of the parent's ancestors.
void add_ancestors(std::vector<WantedLock> &locks, const Tree &state)
{
    static constinit pg::Statement select_ancestors(
        "SELECT relid::oid FROM pg_partition_ancestors($1) AS ancestor(relid) WHERE relid <> $1");
    for (const pg::Row row :
         pg::as_extension_owner([&] { return select_ancestors.run(state.parent); }))
        locks.push_back({row.oid(0), AccessShareLock});
}

std::vector<WantedLock> locks_to_drop_leaf(const Tree &state, const Leaf &leaf)
{
    std::vector<WantedLock> locks{{state.parent, AccessExclusiveLock}};
    if (const Leaf *default_leaf = state.default_leaf(); default_leaf != nullptr)
        locks.push_back({default_leaf->oid, AccessExclusiveLock});
    pg::with_transaction([&] {
        const std::vector<WantedLock> parts = locks_to_drop(leaf.oid);
        locks.insert(locks.end(), parts.begin(), parts.end());
    });
    return locks;
}

// PostgreSQL itself allows inserts while a leaf is attached. But a row on its way to the default
// leaf then fails with an error, because it no longer belongs there. So inserts are locked out
// where rows of the period may arrive within the next minute.
std::vector<WantedLock> locks_to_add_leaf(const Tree &state, const core::Period &period,
                                          std::int64_t now)
{
    const bool is_ahead = period.start > now + microseconds_per_minute;
    std::vector<WantedLock> locks;
    pg::with_transaction([&] {
        // With its indexes and TOAST table, as rows may have to move.
        locks = locks_to_drop(state.default_leaf()->oid);
        add_ancestors(locks, state);
    });
    locks.push_back({state.parent, is_ahead ? ShareUpdateExclusiveLock : AccessExclusiveLock});
    return locks;
}

// Returns the part of a missing period to create a leaf for: all of it, unless the default leaf has
// so many rows of that time that moving them would make others wait. These rows stay until their
// retention ends, and the leaf begins with the next minute. Needs a transaction.
core::Period part_to_cover(const TimeTree &tree, const Leaf &default_leaf,
                           const core::Period &period, std::int64_t now)
{
    if (count_in_default(tree, period, default_leaf, rows_per_move + 1) <= rows_per_move)
        return period;
    const std::int64_t next_minute = (now / microseconds_per_minute + 1) * microseconds_per_minute;
    return {std::max(period.start, next_minute), period.end};
}

// The following functions return whether the step is done.
void before_rows_go(const TimeTree &tree, const std::string &table, std::optional<pg::Time> until)
{
    if (tree.before_rows_go)
        tree.before_rows_go(table, until);
}

bool drop_leaf(const TimeTree &tree, const Tree &state, const Leaf &leaf, Patience &patience)
{
    return with_conditional_locks(locks_to_drop_leaf(state, leaf), patience, [&] {
        HIPQ_POINT("before-drop-leaf");
        if (relation_oid(leaf.name) == leaf.oid)
            pg::as_hipq([&] {
                const std::string table = pg::quote_table(leaf.name);
                before_rows_go(tree, table, std::nullopt);
                pg::run_once("DROP TABLE " + table);
            });
        HIPQ_POINT("after-drop-leaf");
    });
}

// For leaves that hipq 0.2.0 created.
bool add_identity(const Leaf &leaf, Patience &patience)
{
    return with_conditional_locks({{leaf.oid, AccessExclusiveLock}}, patience, [&] {
        if (relation_oid(leaf.name) == leaf.oid)
            pg::as_hipq([&] { set_replica_identity(leaf.name); });
    });
}

// Whether the tree is still the one that was read, and lacks the leaf.
bool lacks(const TimeTree &tree, const Tree &state, const std::string &leaf)
{
    return relation_oid(tree.parent) == state.parent && !OidIsValid(relation_oid(leaf));
}

// The tree must have a default leaf.
bool add_leaf(const TimeTree &tree, const Tree &state, const core::Period &missing,
              std::int64_t now, Patience &patience)
{
    const Leaf &default_leaf = *state.default_leaf();
    std::optional<core::Period> period;  // of the leaf that was created
    return with_conditional_locks(
        locks_to_add_leaf(state, missing, now), patience,
        [&] {
            HIPQ_POINT("before-make-leaf");
            pg::as_hipq([&] {
                const core::Period part = part_to_cover(tree, default_leaf, missing, now);
                if (part.start >= part.end || !lacks(tree, state, leaf_name(tree, part)))
                    return;
                make_detached_leaf(tree, part);
                period = part;
            });
        },
        [&] {
            if (!period.has_value())
                return;
            pg::as_hipq([&] {
                move_rows(tree, *period, default_leaf);
                attach(tree, *period);
            });
            HIPQ_POINT("after-make-leaf");
        });
}

bool add_default_leaf(const TimeTree &tree, const Tree &state, Patience &patience)
{
    std::vector<WantedLock> locks{{state.parent, ShareUpdateExclusiveLock}};
    pg::with_transaction([&] { add_ancestors(locks, state); });
    return with_conditional_locks(locks, patience, [&] {
        if (lacks(tree, state, tree.parent + "_default"))
            pg::as_hipq([&] { make_default_leaf(tree); });
    });
}

// Whether rows from before a time can be dropped because all their readers have read them.
bool may_go(const TimeTree &tree, pg::Time time)
{
    return tree.kept_from.has_value() && time <= *tree.kept_from;
}

// Deletes rows past retention from the default leaf. Returns true when none is left.
bool prune_default_leaf(const TimeTree &tree, const Leaf &leaf, std::int64_t now)
{
    if (!tree.kept_from.has_value())
        return true;
    std::uint64_t removed = 0;
    const std::string table = pg::quote_table(leaf.name);
    const pg::Time until = std::min(postgres_time(now - tree.retention), *tree.kept_from);
    pg::with_transaction([&] {
        pg::as_hipq([&] {
            before_rows_go(tree, table, until);
            removed = pg::run_once("DELETE FROM ONLY " + table +
                                       " WHERE ctid = ANY (ARRAY(SELECT ctid FROM ONLY " + table +
                                       " WHERE " + pg::quote_name(tree.time_column) +
                                       " <= $1 LIMIT " + std::to_string(rows_per_prune) + "))",
                                   until)
                          .processed();
        });
    });
    return removed < rows_per_prune;
}

}  // namespace

std::array<TimeTree, 2> attempt_trees(std::int64_t retention)
{
    constexpr auto indexes = TimeTree::Indexes::attempts;
    return {TimeTree{"attempt", "ended_time", retention, indexes},
            TimeTree{"attempt_log", "logged_time", retention, indexes}};
}

std::array<TimeTree, 2> outbox_trees(std::int64_t retention, std::optional<pg::Time> unread_since)
{
    constexpr std::int64_t day = 86'400'000'000;
    constexpr auto indexes = TimeTree::Indexes::none;
    return {TimeTree{"shard_outbox", "sent_time", retention, indexes, unread_since},
            TimeTree{"shard_received", "sent_time", 2 * retention + day, indexes}};
}

TimeTree final_tree(const catalog::Queue &queue)
{
    return {queue.final_table(), "update_time", queue.retention, TimeTree::Indexes::final_jobs};
}

bool maintain_time_tree(const TimeTree &tree, Patience &patience)
{
    const Tree state = read_tree(tree.parent);
    if (!OidIsValid(state.parent) || state.is_unused)
        return true;
    const std::int64_t present = unix_now();
    bool done = true;
    for (const Leaf &leaf : state.leaves)
        if (leaf.period.has_value() && core::is_due(*leaf.period, present, tree.retention) &&
            may_go(tree, postgres_time(leaf.period->end)))
            done = drop_leaf(tree, state, leaf, patience) && done;
    for (const Leaf &leaf : state.leaves)
        if (!leaf.has_identity)
            done = add_identity(leaf, patience) && done;
    if (state.default_leaf() == nullptr)
        return add_default_leaf(tree, state, patience) &&
               done;  // the leaves follow in the next pass
    for (const core::Period &period :
         core::missing_periods(present, core::period_length(tree.retention), state.covered_until()))
        if (!add_leaf(tree, state, period, present, patience))
            return false;  // a later leaf would cover this one's time
    return prune_default_leaf(tree, *state.default_leaf(), present) && done;
}

}  // namespace hipq::tables
