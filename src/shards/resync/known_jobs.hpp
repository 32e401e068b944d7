// Jobs that are sent again to a router that has forgotten them, and that it had already sent on.
#pragma once

#include "shards/resync/kept_letters.hpp"

#include <string>
#include <vector>

namespace hipq::shards {

// Removes jobs from letters if one of the instance's shards has them, in whatever state: they have
// reached their destination. A job that has ended and was not kept is not known any more.
void leave_out_known_jobs(const std::string &instance, std::vector<KeptLetter> &letters);

}  // namespace hipq::shards
