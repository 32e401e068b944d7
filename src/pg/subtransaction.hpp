// Subtransactions: work whose failure leaves the caller's transaction as it was.
#pragma once

#include "pg/error_classes.hpp"
#include "pg/guard.hpp"

namespace hipq::pg {

// What a subtransaction changes in the process, and puts back at its end.
struct SubtransactionScope {
    MemoryContext memory;
    ResourceOwner resources;
};
SubtransactionScope begin_subtransaction();
void release_subtransaction(const SubtransactionScope &before);
void roll_back_subtransaction(const SubtransactionScope &before);

// While one lives, no lock is waited for longer than so many milliseconds, nor than the session's
// lock_timeout.
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

// Runs `fn` in a subtransaction, which is kept or not when it succeeds, and rolled back when it
// fails. Returns the error that it failed with; the user and the settings of the session are then
// as before. Needs a transaction.
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

// Runs `fn` in a subtransaction that waits so many milliseconds for each of its locks, and no
// longer than the session's lock_timeout. Returns whether it got them: if not, or if a deadlock
// ended it, what it did is undone. Raises its other errors. Needs a transaction.
template <class Function>
bool with_lock_limit(int milliseconds, Ending ending, Function &&fn)
{
    const auto error = in_subtransaction(ending, [&] {
        const LockTimeoutScope bounded(milliseconds);
        fn();
    });
    if (error.has_value() && !is_lock_trouble(*error))
        throw *error;  // NOLINT(cert-err60-cpp): as it came
    return !error.has_value();
}

}  // namespace hipq::pg
