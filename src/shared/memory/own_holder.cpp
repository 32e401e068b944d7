// Keeps the number under which this process holds jobs.
#include "shared/memory/own_holder.hpp"

#include "shared/memory/registry.hpp"

namespace hipq::memory {

namespace {

constinit int holder_of_process = -1;

}  // namespace

int own_holder()
{
    return holder_of_process;
}

bool is_executor()
{
    return holder_of_process >= 0 && holder_of_process < executor_places();
}

void set_own_holder(int holder)
{
    holder_of_process = holder;
}

}  // namespace hipq::memory
