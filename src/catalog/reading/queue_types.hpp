// The job types of a queue, each read when it is first used.
#pragma once

#include "catalog/cache.hpp"

#include <set>

namespace hipq::catalog {

class QueueTypes {
public:
    explicit QueueTypes(int queue_id) : queue_id_(queue_id) {}

    // Null: there is no such type.
    const JobType *find(std::string_view name);
    const JobTypes &all();
    const TypeFacts &facts();

private:
    int queue_id_;
    JobTypes known_{};  // entries are never removed, so that pointers to them stay valid
    std::set<std::string, std::less<>> absent_{};
    bool is_whole_ = false;
    std::optional<TypeFacts> facts_{};
};

// The retry policy of the settings.
core::RetryPolicy default_policy();

}  // namespace hipq::catalog
