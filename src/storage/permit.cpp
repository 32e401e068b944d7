// The permit: one process-local flag.
#include "permit.hpp"

namespace hipq::storage {

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

}  // namespace hipq::storage
