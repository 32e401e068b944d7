// What is paused within a queue: job types, and throttle keys of them. Read when it is asked for
// first, so that nobody has to know of the pauses in queues of others.
#pragma once

#include "catalog/cache.hpp"

namespace hipq::catalog {

class QueuePauses {
public:
    explicit QueuePauses(int queue_id) : queue_id_(queue_id) {}

    // Null: it is not paused.
    const Pause *of_type(std::string_view job_type);
    std::vector<std::string> types();
    // Null: none is paused.
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
