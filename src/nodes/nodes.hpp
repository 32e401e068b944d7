// What other nodes of a sharded instance are asked: calls by the ids of jobs. What other rooms may
// use.
#pragma once

#include "nodes/as_text.hpp"
#include "nodes/dblink.hpp"
#include "nodes/search.hpp"
