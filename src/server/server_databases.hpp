// What the launcher, which is connected to no database, knows of the databases of the server.
#pragma once

#include "pg/spi.hpp"

namespace hipq::server {

enum class Openness : unsigned char {
    open,
    closed,  // takes no connections now, or hipq.databases does not list it
    missing,
};

// Both run a transaction of their own.
Openness openness_of(Oid database);
std::vector<Oid> open_databases();

}  // namespace hipq::server
