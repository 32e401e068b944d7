// The shared segment: its parts, its lock, alerts, and what the current transaction does to it.
// What other rooms may use.
#pragma once

#include "memory/alerts.hpp"
#include "memory/own_holder.hpp"
#include "memory/registry.hpp"
#include "memory/shared_struct.hpp"
#include "memory/tranche.hpp"
#include "memory/transaction_notes.hpp"
