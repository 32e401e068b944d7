// Finds the queue for a job whose enqueuer may not have named one.
#pragma once

#include "catalog/catalog.hpp"

namespace hipq::enqueue {

// Returns the queue named; otherwise the queue where the type is registered (among queues that the
// caller has a right on); otherwise hipq.main, which is created if the caller may create queues, in
// which case the catalogue is read again. Raises 42704, or 42P08 for several queues.
const catalog::Queue &queue_for(std::shared_ptr<const catalog::Catalogue> &catalogue,
                                const std::optional<std::string> &name,
                                const std::string &job_type);

// Raises 42P08 for an object that the caller has named without its queue: with the message, and the
// queues that have it.
[[noreturn]] void refuse_ambiguous(const std::vector<const catalog::Queue *> &queues,
                                   const std::string &message);

}  // namespace hipq::enqueue
