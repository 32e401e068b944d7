// Privileges on queues. They are the ACLs of the queue's tables, so that PostgreSQL stores, dumps
// and inherits them.
#pragma once

#include "catalog/cache.hpp"

namespace hipq::catalog {

// enqueue: INSERT on the queue's table. work: UPDATE of the columns that can be changed in waiting
// jobs. read: SELECT on the table. operate: UPDATE of scheduled_run_time on its live leaf. control,
// which includes operate: UPDATE of priority on it, too.
enum class Privilege : unsigned char { enqueue, work, read, operate, control };
inline constexpr std::array all_privileges{Privilege::enqueue, Privilege::work, Privilege::read,
                                           Privilege::operate, Privilege::control};
std::optional<Privilege> parse_privilege(std::string_view text);

bool may(Oid role, const Queue &queue, Privilege privilege);

// Whether `role` may know that the queue exists.
bool has_any_right(Oid role, const Queue &queue);

// Returns the queue named. Raises the error of require_queue(), with the name as given, also for a
// queue that the caller may not know of.
const Queue &require_known_queue(const Catalogue &catalogue, std::string_view name);

// Whether `role` is, or is a member of, the queue owner, or is a superuser.
bool acts_as_owner(Oid role, const Queue &queue);

// Both raise 42501 if the caller lacks the privilege. A caller without any right on the queue gets
// the error of require_queue(), as if the queue did not exist.
void require(const Queue &queue, Privilege privilege);
void require_owner(const Queue &queue);

// For jobs that move from one queue to another; the caller needs 'control' as well. Readers and
// handlers of the target queue get the data of the jobs, so the caller must have 'read' on the
// source and 'enqueue' on the target.
void require_to_carry(const Queue &from, const Queue &to);

// The caller: the current user of the session.
Oid caller();

}  // namespace hipq::catalog
