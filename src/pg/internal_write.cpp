// Marks writes as hipq's own, for the guard trigger.
#include "pg/internal_write.hpp"

namespace hipq::pg {

namespace {
constinit bool permitted = false;
}

bool is_permitted()
{
    return permitted;
}

InternalWrite::InternalWrite() : before_(permitted)
{
    permitted = true;
}

InternalWrite::~InternalWrite()
{
    permitted = before_;
}

}  // namespace hipq::pg
