// What other rooms use of the queues: what there is, as described objects.
#pragma once

#include "queues/sections.hpp"
#include "queues/states.hpp"
#include "queues/table_name.hpp"
