// The client of hipq for C++20 over libpq: enqueue in your transaction, wait for results, work.
#pragma once

#include "hipq/client/batch.hpp"
#include "hipq/client/enqueue.hpp"
#include "hipq/client/graph.hpp"
#include "hipq/client/otlp.hpp"
#include "hipq/client/testing.hpp"
#include "hipq/client/tracing.hpp"
#include "hipq/client/worker.hpp"
