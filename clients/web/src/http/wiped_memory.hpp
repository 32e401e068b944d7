// Memory is wiped when it is given back: passwords pass through many hands, most of them in
// libraries, none of which does so.
#pragma once

namespace hipq::web {

// Wipes what functions that have returned left on the stack.
[[gnu::noinline]] void wipe_stack();

}  // namespace hipq::web
