// Subtransactions: work whose failure leaves the caller's transaction intact.
#pragma once

#include "pg/error_classes.hpp"
#include "pg/guard.hpp"

namespace hipq::pg {

// What a subtransaction changes in the process, and restores at its end.
struct SubtransactionScope {
    MemoryContext memory;
    ResourceOwner resources;
};
SubtransactionScope begin_subtransaction();
void release_subtransaction(const SubtransactionScope &before);
void roll_back_subtransaction(const SubtransactionScope &before);

// While an object of this class lives, no lock wait exceeds that many milliseconds, nor the
// session's lock_timeout.
class LockTimeoutScope {
public:
    explicit LockTimeoutScope(int milliseconds) : before_(LockTimeout)
    {
        LockTimeout = before_ == 0 ? milliseconds : std::min(before_, milliseconds);
    }
    ~LockTimeoutScope() { LockTimeout = before_; }
    LockTimeoutScope(const LockTimeoutScope &) = delete;
    LockTimeoutScope &operator=(const LockTimeoutScope &) = delete;

private:
    int before_;
};

enum class Ending : unsigned char { kept, rolled_back };

// Runs `fn` in a subtransaction. If `fn` succeeds, `ending` decides whether the subtransaction is
// kept; if `fn` fails, it is rolled back. Returns the error with which `fn` failed; the user and
// the settings of the session are then as before. Needs a transaction.
template <class Function>
std::optional<Error> in_subtransaction(Ending ending, Function &&fn)
{
    const SubtransactionScope before = begin_subtransaction();
    std::optional<Error> failure;
    std::exception_ptr other;
    try {
        fn();
        if (ending == Ending::kept) {
            release_subtransaction(before);
            return std::nullopt;
        }
    } catch (const Error &error) {
        failure = error;
    } catch (...) {
        other = std::current_exception();
    }
    roll_back_subtransaction(before);
    if (other != nullptr)
        std::rethrow_exception(other);
    return failure;
}

// Runs `fn` in a subtransaction that waits that many milliseconds for each of its locks, but no
// longer than the session's lock_timeout. Returns whether it got all locks: if not, or if a
// deadlock ended it, its effects are undone. Raises its other errors. Needs a transaction.
template <class Function>
bool with_lock_limit(int milliseconds, Ending ending, Function &&fn)
{
    const auto error = in_subtransaction(ending, [&] {
        const LockTimeoutScope bounded(milliseconds);
        fn();
    });
    if (error.has_value() && !is_lock_trouble(*error))
        throw *error;  // rethrown unchanged
    return !error.has_value();
}

}  // namespace hipq::pg
