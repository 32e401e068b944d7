// What shared memory knows of databases: which has work, when somebody has to look, which stands
// aside. What other rooms may use.
#pragma once

#include "databases/dirty_queues.hpp"
#include "databases/duties_set_aside.hpp"
#include "databases/launcher_slots.hpp"
#include "databases/own_slot.hpp"
#include "databases/quiesce.hpp"
#include "databases/rounds.hpp"
#include "databases/slots.hpp"
#include "databases/stand_aside.hpp"
