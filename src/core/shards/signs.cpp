// Compares what other nodes know with what this node remembers.
#include "core/shards/signs.hpp"

namespace hipq::core {

Forgotten forgotten(const SignsKnown &known, const SignLetter &letter)
{
    if (letter.heard.has_value() && letter.heard->id >= known.from && !known.remembers_heard)
        return Forgotten::what_it_sent;
    if (letter.before.has_value() && known.heard > 0 && letter.before->id > known.heard)
        return Forgotten::what_it_got;
    return Forgotten::nothing;
}

}  // namespace hipq::core
