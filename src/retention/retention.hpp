// Keeping the tables small: leaves dropped in time, dead rows vacuumed away. What other rooms may
// use.
#pragma once

#include "retention/maintenance.hpp"
#include "retention/vacuum.hpp"
