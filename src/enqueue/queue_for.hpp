// The queue that a job goes to when its enqueuer names none.
#pragma once

#include "catalog/catalog.hpp"

namespace hipq::enqueue {

// The queue named; else the one where the type is registered (for those that the caller has to do
// with); else hipq.main, which is made for a caller who may create queues, and then the catalogue
// is read anew. Raises 42704, 42P08 for several.
const catalog::Queue &queue_for(std::shared_ptr<const catalog::Catalogue> &catalogue,
                                const std::optional<std::string> &name,
                                const std::string &job_type);

// 42P08 for what the caller has named without its queue: the message, and the queues that have it.
[[noreturn]] void refuse_ambiguous(const std::vector<const catalog::Queue *> &queues,
                                   const std::string &message);

}  // namespace hipq::enqueue
