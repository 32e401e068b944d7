// Tells this server's present timeline from earlier ones.
#include "catalog/timeline.hpp"

#include "catalog/identity.hpp"
#include "pg/arguments.hpp"
#include "pg/guard.hpp"

extern "C" {
#include "access/xlog.h"
#include "access/xlogrecovery.h"
}

namespace hipq::catalog {

namespace {

TimeLineID timeline()
{
    if (!::RecoveryInProgress())
        return ::GetWALInsertionTimeLine();
    TimeLineID replayed = 0;
    (void)::GetXLogReplayRecPtr(&replayed);
    return replayed;
}

// "system identifier/timeline/"
std::string without_mark()
{
    return std::to_string(::GetSystemIdentifier()) + "/" + std::to_string(timeline()) + "/";
}

std::string own_mark()
{
    return ::RecoveryInProgress() ? std::string() : own_token().value_or("");
}

}  // namespace

std::string own_timeline()
{
    return without_mark() + own_mark();
}

// If either side lacks a mark, the marks are not compared.
bool is_own_timeline(std::string_view noted)
{
    if (::RecoveryInProgress())
        return true;
    const std::string start = without_mark();
    if (!noted.starts_with(start))
        return false;
    const std::string_view mark = noted.substr(start.size());
    const std::string own = own_mark();
    return mark.empty() || own.empty() || mark == own;
}

std::string forgotten_timeline(std::string_view known)
{
    return "forgotten: " + std::string(known);
}

void refuse_out_of_step(std::string_view instance, int node)
{
    const std::string name(instance);
    HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
               errmsg("this server, node %d of instance \"%s\", is not in step with the others",
                      node, name.c_str()),
               errdetail("It was promoted or restored, and may lack what it has sent and received; "
                         "so it starts no job of the instance and takes none."),
               errhint("On the router: CALL hipq.resync_shard('%s', %d).", name.c_str(), node));
}

}  // namespace hipq::catalog

HIPQ_FUNCTION(hipq__own_timeline)
{
    return hipq::pg::return_text(hipq::catalog::own_timeline());
}

HIPQ_FUNCTION(hipq__is_own_timeline)
{
    return hipq::pg::return_bool(
        hipq::catalog::is_own_timeline(hipq::pg::Arguments(fcinfo).text({0, "noted"})));
}
