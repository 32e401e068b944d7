// Each duty of a scheduler, of each queue, by itself: what is against one is not against the
// others.
#pragma once

#include <functional>

#include "catalog/catalog.hpp"
#include "core/process/duty.hpp"

namespace hipq::process {

// Runs a duty of a queue, in transactions of its own; null: one of the whole database. An error in
// it rolls back its transaction and sets that duty aside for a while, with a line in the log now
// and then and an entry in hipq.alerts. Its locks are waited for a moment only; somebody who holds
// one sets it aside for half a second. False: it was not done, or is set aside.
//
// What wants this process to end, and what is no error of PostgreSQL, passes. No transaction open.
bool do_duty(core::Duty duty, const catalog::Queue *queue, const std::function<void()> &fn);

// Those of queues that are not there any more.
void forget_duties(const catalog::Catalogue &catalogue);

// When the first of those that are set aside is to be tried again; infinity: none is. One that was
// not, though its time had come, need not be, for now.
pg::Time next_duty();

// The same of those of one queue.
pg::Time next_duty(int queue_id);

// For a scheduler that begins.
void begin_duties();

}  // namespace hipq::process
