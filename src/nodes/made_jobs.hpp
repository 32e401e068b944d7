// Collects jobs that hipq makes of others (retried, redriven) and sends to other nodes: the
// statement that makes them returns no row for these.
#pragma once

#include <cstdint>
#include <vector>

namespace hipq::nodes {

struct MadeJob {
    std::int64_t made_of;
    std::int64_t id;
};

// While an object of this class exists, it collects them.
class MadeJobs {
public:
    MadeJobs();
    ~MadeJobs();
    MadeJobs(const MadeJobs &) = delete;
    MadeJobs &operator=(const MadeJobs &) = delete;

    const std::vector<MadeJob> &sent() const { return sent_; }

private:
    friend void note_made_and_sent(const MadeJob &job);
    std::vector<MadeJob> sent_{};
    MadeJobs *before_;
};

void note_made_and_sent(const MadeJob &job);

}  // namespace hipq::nodes
