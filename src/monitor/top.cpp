// hipq._sort_of_top: checks the column that hipq.top() sorts by.
#include <algorithm>
#include <array>

#include "pg/arguments.hpp"
#include "pg/short_text.hpp"

namespace hipq::monitor {

namespace {

constexpr std::array<std::string_view, 10> columns{
    "busy", "queue", "backlog", "running", "per_min", "failed", "p50", "p99", "oldest", "state"};

std::string sort_of(const pg::Arguments &arguments)
{
    std::string sort = arguments.text("sort");
    if (std::find(columns.begin(), columns.end(), sort) == columns.end())
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("there is no column \"%s\" to sort by", sort.c_str()),
                   errhint("Sort by busy, queue, backlog, running, per_min, failed, p50, p99, "
                           "oldest or state."));
    return sort;
}

}  // namespace

}  // namespace hipq::monitor

HIPQ_FUNCTION(hipq__sort_of_top)
{
    return hipq::pg::return_text(hipq::monitor::sort_of(hipq::pg::Arguments(fcinfo)));
}
