// Lets hipq's own statements pass the guard trigger.
#pragma once

#include "pg/transaction.hpp"

namespace hipq::pg {

// Returns whether this process is executing a statement of hipq's own.
bool is_permitted();

// While an object of this class lives, hipq itself writes rows: the guard trigger applies the state
// machine, not the rules for users.
class InternalWrite {
public:
    InternalWrite();
    ~InternalWrite();
    InternalWrite(const InternalWrite &) = delete;
    InternalWrite &operator=(const InternalWrite &) = delete;

private:
    bool before_;
};

// Runs `fn` as the extension owner and as an InternalWrite. Every write of hipq to its own tables
// goes through here.
template <class Function>
auto as_hipq(Function &&fn)
{
    const InternalWrite internal_write;
    return pg::as_extension_owner(fn);
}

}  // namespace hipq::pg
