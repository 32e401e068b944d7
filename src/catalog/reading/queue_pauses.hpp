// Pauses within a queue: of job types and of throttle keys. They are read on first use, so that a
// process need not know the pauses in other users' queues.
#pragma once

#include "catalog/cache.hpp"

namespace hipq::catalog {

class QueuePauses {
public:
    explicit QueuePauses(int queue_id) : queue_id_(queue_id) {}

    // Null: the type is not paused.
    const Pause *of_type(std::string_view job_type);
    std::vector<std::string> types();
    // Null: no key of the type is paused.
    const PausedKeys *of_keys(std::string_view job_type);
    bool has_keys();

private:
    struct Pauses {
        std::map<std::string, Pause, std::less<>> types{};
        std::map<std::string, PausedKeys, std::less<>> keys{};  // by type
    };
    const Pauses &pauses();

    int queue_id_;
    std::optional<Pauses> pauses_{};
};

}  // namespace hipq::catalog
