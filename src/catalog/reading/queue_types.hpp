// The job types of a queue, read one by one as they are asked for.
#pragma once

#include "catalog/cache.hpp"

#include <set>

namespace hipq::catalog {

class QueueTypes {
public:
    explicit QueueTypes(int queue_id) : queue_id_(queue_id) {}

    // Null: there is none.
    const JobType *find(std::string_view name);
    const JobTypes &all();
    const TypeFacts &facts();

private:
    int queue_id_;
    JobTypes known_{};  // nothing goes out of it, so that pointers into it stay good
    std::set<std::string, std::less<>> absent_{};
    bool is_whole_ = false;
    std::optional<TypeFacts> facts_{};
};

// What the settings say about retries.
core::RetryPolicy default_policy();

}  // namespace hipq::catalog
