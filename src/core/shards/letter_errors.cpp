// Knows the SQLSTATEs of a server in trouble.
#include "core/shards/letter_errors.hpp"

#include <algorithm>
#include <array>

namespace hipq::core {

namespace {

// Connections, read-only transactions, deadlocks, resources, operators, the system.
constexpr std::array<std::string_view, 6> classes_of_server{"08", "25", "40", "53", "57", "58"};
constexpr std::string_view lock_not_available = "55P03";

}  // namespace

bool is_about_sent_job(std::string_view sqlstate)
{
    return sqlstate != lock_not_available &&
           std::ranges::find(classes_of_server, sqlstate.substr(0, 2)) == classes_of_server.end();
}

bool may_fit_later(std::string_view sqlstate)
{
    return sqlstate.substr(0, 2) == "55";
}

}  // namespace hipq::core
