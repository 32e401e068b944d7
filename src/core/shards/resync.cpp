// Decides by the router's last word about a job.
#include "core/shards/resync.hpp"

namespace hipq::core {

bool is_sent_again(int node, const LastWord &last_word)
{
    return last_word == node;
}

bool is_stale(int node, const LastWord &last_word, bool comes_again)
{
    return comes_again || (last_word.has_value() && *last_word != node);
}

bool must_release(bool is_awaited, bool has_unfinished_job)
{
    return is_awaited && !has_unfinished_job;
}

}  // namespace hipq::core
