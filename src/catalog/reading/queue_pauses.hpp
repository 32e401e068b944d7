// Pauses within a queue: of job types and of throttle keys; and the breakers of its types that are
// not closed. They are read on first use, so that a process need not know the pauses in other
// users' queues.
#pragma once

#include "catalog/cache.hpp"

namespace hipq::catalog {

class QueuePauses {
public:
    // `has_breakers`: hipq.breaker_state exists, which 0.2.0 lacks.
    QueuePauses(int queue_id, bool has_breakers) : queue_id_(queue_id), has_breakers_(has_breakers)
    {
    }

    // Null: the type is not paused.
    const Pause *of_type(std::string_view job_type);
    std::vector<std::string> types();
    // Null: no key of the type is paused.
    const PausedKeys *of_keys(std::string_view job_type);
    bool has_keys();
    // Null: the breaker is closed.
    const OpenBreaker *breaker_of(std::string_view job_type);

private:
    struct Pauses {
        std::map<std::string, Pause, std::less<>> types{};
        std::map<std::string, PausedKeys, std::less<>> keys{};  // by type
        std::map<std::string, OpenBreaker, std::less<>> breakers{};
    };
    const Pauses &pauses();

    int queue_id_;
    bool has_breakers_;
    std::optional<Pauses> pauses_{};
};

}  // namespace hipq::catalog
