// The databases of the server, for the launcher, which is connected to none.
#pragma once

#include "pg/spi.hpp"

namespace hipq::server {

enum class Openness : unsigned char {
    open,
    closed,  // takes no connections now, or hipq.databases does not list it
    missing,
};

// Both run their own transaction.
Openness openness_of(Oid database);
std::vector<Oid> open_databases();

}  // namespace hipq::server
