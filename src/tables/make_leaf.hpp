// How a leaf is made of a table cut by time (the final jobs of a queue, the attempts). All as the
// extension owner.
#pragma once

#include "core/retention/retention.hpp"
#include "tables/time_tree.hpp"

namespace hipq::tables {

// hipq's now in microseconds since the Unix epoch, as core counts; and such a time for a statement.
std::int64_t unix_now();
pg::Time postgres_time(std::int64_t unix_time);

// A relation of schema hipq, by its name; InvalidOid: there is none.
Oid relation_oid(const std::string &name);

// Takes from tables of hipq's whatever was given away: from new ones what the default privileges of
// their owner gave.
void strip_grants(const std::vector<std::string> &tables);

// Rows of a leaf have no primary key. Without an identity whoever publishes all tables of the
// database (CREATE PUBLICATION ... FOR ALL TABLES) could not delete or change any of them. Locks
// the leaf for itself. Needs as_hipq.
void set_replica_identity(const std::string &leaf);

void comment_on(const std::string &table, const std::string &text);

// Tables that are made from now on are as hipq makes them, wherever and whatever the session's
// settings want (default_tablespace and the like): until as_hipq ends. Needs as_hipq.
void pin_table_settings();

// app_mail_final_p20261121
std::string leaf_name(const TimeTree &tree, const core::Period &period);

// A leaf apart from its tree, and its place there. Need as_hipq.
void make_detached_leaf(const TimeTree &tree, const core::Period &period);
void attach(const TimeTree &tree, const core::Period &period);

// The default leaf of a tree that others use, made apart and attached. Needs as_hipq.
void make_default_leaf(const TimeTree &tree);
// The same of a tree that this transaction has made: locks the tree for reading and writing. Needs
// as_hipq.
void make_first_leaf(const TimeTree &tree);

// All leaves of hipq.attempt and hipq.attempt_log if they have none: they are data that users own,
// so the first queue brings them, not the extension. Needs as_hipq.
void make_attempt_leaves_once();

}  // namespace hipq::tables
