// Creates the leaves of tables that are partitioned by time.
//
// In a tree that is in use, a leaf is created detached and then attached; the locks are taken in
// between (try_lock.hpp). In a tree that no other session sees yet, it is created in place.
#include "tables/make_leaf.hpp"

#include <chrono>

#include "pg/clock.hpp"
#include "pg/internal_write.hpp"
#include "pg/quote.hpp"
#include "settings.hpp"

namespace hipq::tables {

namespace {

constexpr std::int64_t unix_epoch_to_postgres =
    946'684'800'000'000;  // microseconds from 1970 to 2000

// "2026-11-21 13:05:00+00"
std::string literal_of(std::int64_t time)
{
    namespace chrono = std::chrono;
    const chrono::sys_time<chrono::microseconds> point{chrono::microseconds{time}};
    const auto midnight = chrono::floor<chrono::days>(point);
    const chrono::year_month_day date{midnight};
    const chrono::hh_mm_ss clock{point - midnight};
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "'%04d-%02u-%02u %02d:%02d:%02d.%06d+00'",
                  static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                  static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                  static_cast<int>(clock.minutes().count()),
                  static_cast<int>(clock.seconds().count()),
                  static_cast<int>(clock.subseconds().count()));
    return text.data();
}

void make_indexes(const TimeTree &tree, const std::string &leaf)
{
    const std::string on_leaf = " ON " + pg::quote_table(leaf) + " ";
    switch (tree.indexes) {
    case TimeTree::Indexes::final_jobs:
        pg::run_once("CREATE UNIQUE INDEX " + pg::quote_name(leaf + "_id") + on_leaf + "(id)");
        pg::run_once("CREATE INDEX " + pg::quote_name(leaf + "_key") + on_leaf +
                     "(job_type, job_key) WHERE job_key <> 'NONE'");
        break;
    case TimeTree::Indexes::attempts:
        pg::run_once("CREATE INDEX " + pg::quote_name(leaf + "_job") + on_leaf +
                     "(queue_id, job_id, attempt)");
        break;
    case TimeTree::Indexes::none:
        break;
    }
}

constinit pg::Statement select_statistics_targets(R"(
    SELECT quote_ident(attname), attstattarget
    FROM pg_attribute
    WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attstattarget >= 0)");

// Copies statistics targets, which LIKE does not.
void copy_statistics_targets(const std::string &from, const std::string &to)
{
    std::string changes;
    for (const pg::Row row : select_statistics_targets.run(pg::quote_table(from)))
        changes.append(changes.empty() ? "" : ", ")
            .append("ALTER COLUMN " + row.text(0) + " SET STATISTICS " +
                    std::to_string(row.integer32(1)));
    if (!changes.empty())
        pg::run_once("ALTER TABLE " + pg::quote_table(to) + " " + changes);
}

// Adds what a leaf has besides its columns and constraints.
void complete_leaf(const TimeTree &tree, const std::string &leaf, const std::string &comment)
{
    strip_grants({leaf});
    copy_statistics_targets(tree.parent, leaf);
    set_replica_identity(leaf);
    make_indexes(tree, leaf);
    comment_on(leaf, comment);
}

void make_detached_leaf(const TimeTree &tree, const std::string &leaf, const std::string &comment)
{
    pg::run_once("CREATE TABLE " + pg::quote_table(leaf) + " (LIKE " +
                 pg::quote_table(tree.parent) + " INCLUDING DEFAULTS INCLUDING CONSTRAINTS)");
    complete_leaf(tree, leaf, comment);
}

void make_leaf_in_place(const TimeTree &tree, const std::string &leaf, const std::string &bound,
                        const std::string &comment)
{
    pg::run_once("CREATE TABLE " + pg::quote_table(leaf) + " PARTITION OF " +
                 pg::quote_table(tree.parent) + " " + bound);
    complete_leaf(tree, leaf, comment);
}

void attach(const TimeTree &tree, const std::string &leaf, const std::string &bound)
{
    pg::run_once("ALTER TABLE " + pg::quote_table(tree.parent) + " ATTACH PARTITION " +
                 pg::quote_table(leaf) + " " + bound);
}

std::string default_leaf_name(const TimeTree &tree)
{
    return tree.parent + "_default";
}

std::string comment_on_default(const TimeTree &tree)
{
    return "rows of " + tree.parent + " for whose time no leaf was there";
}

std::string bound_of(const core::Period &period)
{
    return "FOR VALUES FROM (" + literal_of(period.start) + ") TO (" + literal_of(period.end) + ")";
}

std::string comment_on_period(const TimeTree &tree, const core::Period &period)
{
    return "rows of " + tree.parent + " with " + tree.time_column + " from " +
           literal_of(period.start) + " to " + literal_of(period.end);
}

}  // namespace

void set_replica_identity(const std::string &leaf)
{
    pg::run_once("ALTER TABLE " + pg::quote_table(leaf) + " REPLICA IDENTITY FULL");
}

pg::Time postgres_time(std::int64_t unix_time)
{
    return pg::Time{unix_time - unix_epoch_to_postgres};
}

std::int64_t unix_now()
{
    return pg::now().value + unix_epoch_to_postgres;
}

Oid relation_oid(const std::string &name)
{
    return pg::call([&] {
        const Oid schema = ::get_namespace_oid("hipq", true);
        return OidIsValid(schema) ? ::get_relname_relid(name.c_str(), schema) : InvalidOid;
    });
}

void strip_grants(const std::vector<std::string> &tables)
{
    static constinit pg::Statement select_grantees(R"(
        SELECT DISTINCT relation.relname::text,
               CASE acl.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(acl.grantee)) END
        FROM pg_class AS relation
        LEFT JOIN pg_attribute AS attribute ON attribute.attrelid = relation.oid AND attribute.attacl IS NOT NULL
        CROSS JOIN aclexplode(relation.relacl || attribute.attacl) AS acl
        WHERE relation.relnamespace = 'hipq'::regnamespace AND relation.relname = ANY ($1) AND acl.grantee <> relation.relowner)");
    for (const pg::Row row : select_grantees.run(tables))
        pg::run_once("REVOKE ALL ON TABLE " + pg::quote_table(row.text(0)) + " FROM " +
                     row.text(1));
}

void comment_on(const std::string &table, const std::string &text)
{
    pg::run_once("COMMENT ON TABLE " + pg::quote_table(table) + " IS " + pg::quote_literal(text));
}

void pin_table_settings()
{
    pg::call([] {
        for (const auto &[name, value] :
             {std::pair{"default_tablespace", ""}, std::pair{"default_table_access_method", "heap"},
              std::pair{"default_toast_compression", "pglz"},
              std::pair{"standard_conforming_strings", "on"}})
            (void)::set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
                                      true, 0, false);
    });
}

std::string leaf_name(const TimeTree &tree, const core::Period &period)
{
    return tree.parent + "_" + core::leaf_suffix(period);
}

void make_detached_leaf(const TimeTree &tree, const core::Period &period)
{
    make_detached_leaf(tree, leaf_name(tree, period), comment_on_period(tree, period));
}

void attach(const TimeTree &tree, const core::Period &period)
{
    attach(tree, leaf_name(tree, period), bound_of(period));
}

void make_default_leaf(const TimeTree &tree)
{
    make_detached_leaf(tree, default_leaf_name(tree), comment_on_default(tree));
    attach(tree, default_leaf_name(tree), "DEFAULT");
}

void make_first_leaf(const TimeTree &tree)
{
    make_leaf_in_place(tree, default_leaf_name(tree), "DEFAULT", comment_on_default(tree));
}

namespace {

void make_leaves_once(const TimeTree &tree)
{
    if (OidIsValid(relation_oid(default_leaf_name(tree))))
        return;
    make_default_leaf(tree);
    for (const core::Period &period :
         core::missing_periods(unix_now(), core::period_length(tree.retention), std::nullopt)) {
        make_detached_leaf(tree, period);
        attach(tree, period);
    }
}

}  // namespace

void make_attempt_leaves_once()
{
    pin_table_settings();
    for (const TimeTree &tree : attempt_trees(settings::retention.microseconds()))
        make_leaves_once(tree);
}

}  // namespace hipq::tables
