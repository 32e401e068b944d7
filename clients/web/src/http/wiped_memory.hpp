// Wipes memory when it is freed: passwords pass through many functions, most of them in libraries,
// none of which does so.
#pragma once

namespace hipq::web {

// Wipes the stack below the caller, where functions that have returned left data.
[[gnu::noinline]] void wipe_stack();

}  // namespace hipq::web
