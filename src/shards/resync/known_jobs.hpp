// Jobs that a router which has forgotten is sent once more, and had sent on already.
#pragma once

#include "shards/resync/kept_letters.hpp"

#include <string>
#include <vector>

namespace hipq::shards {

// Takes jobs out of letters which one of the instance's shards has, whatever state they are in:
// they have come to where they were to go. One that has ended and was not kept is not known any
// more.
void leave_out_known_jobs(const std::string &instance, std::vector<KeptLetter> &letters);

}  // namespace hipq::shards
