// Creates leaves of tables that are partitioned by time (the final jobs of a queue, the attempts).
// All as the extension owner.
#pragma once

#include "core/retention/retention.hpp"
#include "tables/maintain_leaves.hpp"

namespace hipq::tables {

// hipq's present time in microseconds since the Unix epoch, as core counts; and a time in that form
// as a value for a statement.
std::int64_t unix_now();
pg::Time postgres_time(std::int64_t unix_time);

// A relation of schema hipq by name; InvalidOid: it does not exist.
Oid relation_oid(const std::string &name);

// Revokes all rights on hipq's tables that were granted to other roles; on new tables, those come
// from the owner's default privileges.
void strip_grants(const std::vector<std::string> &tables);

// Rows of a leaf have no primary key. Without a replica identity, a publication of all tables of
// the database (CREATE PUBLICATION ... FOR ALL TABLES) would make DELETE and UPDATE of them fail.
// Locks the leaf exclusively. Call inside as_hipq() only.
void set_replica_identity(const std::string &leaf);

void comment_on(const std::string &table, const std::string &text);

// Makes new tables independent of the session's settings (default_tablespace and the like), until
// as_hipq() ends. Call inside as_hipq() only.
void pin_table_settings();

// app_mail_final_p20261121
std::string leaf_name(const TimeTree &tree, const core::Period &period);

// Create a leaf detached from its tree, and attach it. Call inside as_hipq() only.
void make_detached_leaf(const TimeTree &tree, const core::Period &period);
void attach(const TimeTree &tree, const core::Period &period);

// Creates the default leaf of a tree that is in use: detached, then attached. Call inside as_hipq()
// only.
void make_default_leaf(const TimeTree &tree);
// The same for a tree that this transaction has created. Locks the tree for reading and writing.
// Call inside as_hipq() only.
void make_first_leaf(const TimeTree &tree);

// Creates all leaves of hipq.attempt and hipq.attempt_log if they have none. Leaves are data that
// users own, so the first queue creates them, not the extension. Call inside as_hipq() only.
void make_attempt_leaves_once();

}  // namespace hipq::tables
