// The launcher: one per server, connected to no database. Finds databases, and starts and restarts
// schedulers and executors.
#pragma once

namespace hipq::server {

// Registers the launcher as a static worker while the library is preloaded. Raises ERROR by
// longjmp.
void register_launcher();

}  // namespace hipq::server
