// Runs each duty of a scheduler by itself, for each queue, so that trouble with one does not affect
// the others.
#pragma once

#include <functional>

#include "catalog/catalog.hpp"
#include "core/process/duty.hpp"

namespace hipq::process {

// Runs a duty of a queue, in transactions of its own; null: a duty of the whole database. An error
// rolls back its transaction and sets the duty aside for a while, with an occasional log message
// and an entry in hipq.alerts. The duty waits only briefly for its locks; a lock held by another
// process sets it aside for half a second. False: the duty failed, or is set aside.
//
// Passes on errors that want this process to stop, and exceptions that are no errors of PostgreSQL.
// Call it without an open transaction.
bool do_duty(core::Duty duty, const catalog::Queue *queue, const std::function<void()> &fn);

// Forgets the duties of queues that no longer exist.
void forget_duties(const catalog::Catalogue &catalogue);

// Returns when to retry the first of the duties that are set aside; infinity: there is none. A duty
// whose time has passed without another try is not counted: it is not needed for now.
pg::Time next_duty();

// The same for one queue.
pg::Time next_duty(int queue_id);

// Call this when a scheduler starts.
void begin_duties();

}  // namespace hipq::process
