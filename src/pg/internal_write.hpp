// Lets hipq's own statements past the guard trigger.
#pragma once

#include "pg/transaction.hpp"

namespace hipq::pg {

// Whether a statement of hipq's own is under way in this process.
bool is_permitted();

// While one lives, rows are written by hipq itself: the guard trigger applies the state machine,
// not the rules for users.
class InternalWrite {
public:
    InternalWrite();
    ~InternalWrite();
    InternalWrite(const InternalWrite &) = delete;
    InternalWrite &operator=(const InternalWrite &) = delete;

private:
    bool before_;
};

// Runs `fn` as the extension owner with a permit: every write of hipq's to its tables goes through
// here.
template <class Function>
auto as_hipq(Function &&fn)
{
    const InternalWrite internal_write;
    return pg::as_extension_owner(fn);
}

}  // namespace hipq::pg
