// Tells whether the processes of a database stand aside for a command.
//
// Each mark names the process that requested it.
#include "shared/databases/stand_aside.hpp"

namespace hipq::databases {

bool is_valid(const memory::StandAside &mark)
{
    return mark.database != InvalidOid && ProcGlobal->allProcs[mark.process].pid == mark.pid;
}

bool stands_aside(Oid database)
{
    const memory::Lock lock(LW_SHARED);
    return has_valid_mark(database);
}

bool has_valid_mark(Oid database)
{
    return std::any_of(std::begin(memory::registry()->marks), std::end(memory::registry()->marks),
                       [&](const memory::StandAside &mark) {
                           return mark.database == database && is_valid(mark);
                       });
}

void announce_departure()
{
    ::ConditionVariableBroadcast(&memory::registry()->departure);
}

void wait_for_departure(std::int64_t microseconds)
{
    pg::call([&] {
        (void)::ConditionVariableTimedSleep(&memory::registry()->departure,
                                            static_cast<long>((microseconds + 999) / 1000),
                                            PG_WAIT_EXTENSION);
    });
}

void end_wait_for_departure()
{
    ::ConditionVariableCancelSleep();
}

}  // namespace hipq::databases
