// By what the process has attached as.
#include "own_holder.hpp"

#include "shmem/databases.hpp"
#include "shmem/own_executor.hpp"

namespace hipq::shmem {

int own_holder()
{
    if (const int executor = own_executor_index(); executor >= 0)
        return executor;
    const int database = own_database_slot();
    return database >= 0 ? scheduler_holder(database) : -1;
}

}  // namespace hipq::shmem
