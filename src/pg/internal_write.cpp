// Marks writes as hipq's own, for the guard trigger.
#include "internal_write.hpp"

namespace hipq::pg {

namespace {
constinit bool permitted = false;
}

bool is_permitted()
{
    return permitted;
}

Permit::Permit() : before_(permitted)
{
    permitted = true;
}

Permit::~Permit()
{
    permitted = before_;
}

}  // namespace hipq::pg
