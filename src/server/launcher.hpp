// The launcher: one per server, connected to no database. Finds databases, starts and restarts
// schedulers and executors.
#pragma once

namespace hipq::server {

// Registers the launcher as static worker while the library is preloaded. PostgreSQL regime.
void register_launcher();

}  // namespace hipq::server
