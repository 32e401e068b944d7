// Tells who makes jobs of others which of them have been sent away.
#include "nodes/made_jobs.hpp"

#include <utility>

namespace hipq::nodes {

namespace {

constinit MadeJobs *listener = nullptr;

}  // namespace

MadeJobs::MadeJobs() : before_(std::exchange(listener, this)) {}

MadeJobs::~MadeJobs()
{
    listener = before_;
}

void note_made_and_sent(const MadeJob &job)
{
    if (listener != nullptr)
        listener->sent_.push_back(job);
}

}  // namespace hipq::nodes
