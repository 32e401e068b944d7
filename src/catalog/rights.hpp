// Who may do what to a queue. Rights are the ACLs of its tables, so that PostgreSQL keeps, dumps
// and inherits them.
#pragma once

#include "catalog/cache.hpp"

namespace hipq::catalog {

// enqueue: INSERT on the queue's table. work: UPDATE of what may be changed in waiting jobs. read:
// SELECT on it. operate: UPDATE of when a job runs, on its live leaf. control, which includes
// operate: UPDATE of its priority, too.
enum class Privilege : unsigned char { enqueue, work, read, operate, control };
inline constexpr std::array all_privileges{Privilege::enqueue, Privilege::work, Privilege::read,
                                           Privilege::operate, Privilege::control};
std::optional<Privilege> parse_privilege(std::string_view text);

bool may(Oid role, const Queue &queue, Privilege privilege);

// Whether the queue exists as far as `role` may know.
bool has_any_right(Oid role, const Queue &queue);

// The queue named, or the error of require_queue, with the name as given, also for one that the
// caller may not know of.
const Queue &require_known_queue(const Catalogue &catalogue, std::string_view name);

// Whether `role` is, or is a member of, the queue owner, or is a superuser.
bool acts_as_owner(Oid role, const Queue &queue);

// 42501 for those who may not. A caller without any right on the queue gets the error of
// require_queue: what they may not see does not exist.
void require(const Queue &queue, Privilege privilege);
void require_owner(const Queue &queue);

// For jobs that leave one queue for another, beside 'control': readers there see their data, and
// handlers there get them. So the caller has to have 'read' here and 'enqueue' there.
void require_to_carry(const Queue &from, const Queue &to);

// Who calls: the current user of the session.
Oid caller();

}  // namespace hipq::catalog
