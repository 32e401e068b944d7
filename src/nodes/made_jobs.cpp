// Tells code that makes jobs of others which of them were sent to other nodes.
#include "nodes/nodes.hpp"

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
