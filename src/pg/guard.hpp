// The boundary between C++ and PostgreSQL: a backend ERROR becomes a C++ exception, and vice versa.
//
// PostgreSQL raises an ERROR by longjmp, which skips destructors. A C++ exception that reaches a C
// frame ends the process, and so restarts the whole server. Only call() and enter() cross the
// boundary.
//
// "Call inside pg::call() only" in a comment means that the function raises ERROR by longjmp. Call
// it from a function passed to call(), or from a C frame (a hook, a callback, _PG_init), where no
// object with a destructor may be alive. All other code is ordinary C++: errors are exceptions
// there.
#pragma once

#include "pg/postgres.hpp"

namespace hipq::pg {

// A complete error of PostgreSQL: everything passed to ereport crosses the boundary and back
// without loss.
class Error : public std::exception {
public:
    explicit Error(const ErrorData &data);

    // Five characters, as in "23505".
    std::string sqlstate() const { return ::unpack_sql_state(sqlerrcode_); }
    int sqlerrcode() const { return sqlerrcode_; }
    const std::string &message() const { return message_; }
    const std::optional<std::string> &detail() const { return detail_; }
    const std::optional<std::string> &hint() const { return hint_; }
    const std::optional<std::string> &context() const { return context_; }
    // The statement that could not be parsed, and the position in it (characters, from 1; 0:
    // unknown). Users never see it: it may be one of hipq's own.
    const std::optional<std::string> &internal_query() const { return internal_query_; }
    int internal_position() const { return internal_position_; }
    // Returns whether code in a procedural language raised the error by RAISE or similar, and not a
    // function of the server.
    bool is_raised_by_language() const;
    const char *what() const noexcept override { return message_.c_str(); }

    // Returns a copy in the current memory context for ReThrowError; null if there is no memory for
    // it. Never raises.
    ErrorData *copy_for_rethrow() const noexcept;

private:
    int sqlerrcode_;
    bool output_to_server_;
    bool output_to_client_;
    const char *filename_;  // constants of the code that raised the error
    int lineno_;
    const char *funcname_;
    const char *domain_;
    std::string message_;
    std::optional<std::string> detail_, detail_log_, hint_, context_;
    std::optional<std::string> schema_name_, table_name_, column_name_, datatype_name_,
        constraint_name_;
    std::optional<std::string> internal_query_;
    int internal_position_;
};

// The untyped base of call(): runs `function(argument)`; an ERROR inside comes out as Error.
void run_guarded(void (*function)(void *), void *argument);

// Runs `fn`, which may raise ERROR by longjmp, and returns its result (plain data only). Throws
// pg::Error for an ERROR inside. `fn` must not declare an object with a destructor.
template <class Function>
auto call(Function &&fn) -> std::invoke_result_t<Function &>
{
    using Result = std::invoke_result_t<Function &>;
    if constexpr (std::is_void_v<Result>) {
        run_guarded(
            [](void *argument) { (*static_cast<std::remove_reference_t<Function> *>(argument))(); },
            const_cast<void *>(static_cast<const void *>(std::addressof(fn))));
    } else {
        static_assert(std::is_trivially_destructible_v<Result>,
                      "what crosses the boundary is plain data");
        struct Frame {
            std::remove_reference_t<Function> *function;
            Result result;
        } frame{std::addressof(fn), Result{}};
        run_guarded(
            [](void *argument) {
                auto *inner = static_cast<Frame *>(argument);
                inner->result = (*inner->function)();
            },
            &frame);
        return frame.result;
    }
}

// Throws the error that `report` (an ereport(ERROR, ...)) raises. The base of HIPQ_RAISE.
template <class Report>
[[noreturn]] void raise(Report &&report)
{
    call(report);
    std::abort();  // the report did not raise: a bug
}

// Raises a failure as ERROR. Call it after the catch block has ended; null stands for "out of
// memory".
[[noreturn]] void rethrow_as_error(ErrorData *failure);
[[noreturn]] void raise_internal_error(const char *what);

// Runs `fn`, which is C++ and may throw, for a C caller. Any exception that comes out becomes an
// ERROR.
template <class Function>
auto enter(Function &&fn) -> std::invoke_result_t<Function &>
{
    ErrorData *failure = nullptr;
    std::array<char, 200> unknown{};
    bool is_unknown = false;  // what() may be empty
    try {
        return fn();
    } catch (const Error &error) {
        failure = error.copy_for_rethrow();
    } catch (const std::bad_alloc &) {
        failure = nullptr;
    } catch (const std::exception &error) {
        is_unknown = true;
        ::strlcpy(unknown.data(), error.what(), unknown.size());
    } catch (...) {
        is_unknown = true;
        ::strlcpy(unknown.data(), "unknown exception", unknown.size());
    }
    if (is_unknown)
        raise_internal_error(unknown.data());
    rethrow_as_error(failure);
}

}  // namespace hipq::pg

// Throws an error in C++ code: HIPQ_RAISE(errcode(...), errmsg(...), errhint(...)).
#define HIPQ_RAISE(...) ::hipq::pg::raise([&] { ereport(ERROR, __VA_ARGS__); })

// Defines an SQL-callable C function with a C++ body, which may throw: HIPQ_FUNCTION(hipq_name) {
// ... use fcinfo ... }
#define HIPQ_FUNCTION(name)                                                                        \
    extern "C" {                                                                                   \
    [[gnu::visibility("default")]] Datum name(FunctionCallInfo fcinfo);                            \
    [[gnu::visibility("default")]] const Pg_finfo_record *pg_finfo_##name(void);                   \
    const Pg_finfo_record *pg_finfo_##name(void)                                                   \
    {                                                                                              \
        static const Pg_finfo_record record = {1};                                                 \
        return &record;                                                                            \
    }                                                                                              \
    }                                                                                              \
    static Datum name##_body(FunctionCallInfo fcinfo);                                             \
    Datum name(FunctionCallInfo fcinfo)                                                            \
    {                                                                                              \
        return ::hipq::pg::enter([&] { return name##_body(fcinfo); });                             \
    }                                                                                              \
    static Datum name##_body([[maybe_unused]] FunctionCallInfo fcinfo)

// Defines the main function of a background worker: HIPQ_WORKER_MAIN(hipq_name) { ... use argument
// ... }
#define HIPQ_WORKER_MAIN(name)                                                                     \
    extern "C" [[gnu::visibility("default")]] void name(Datum argument);                           \
    static void name##_body(Datum argument);                                                       \
    void name(Datum argument)                                                                      \
    {                                                                                              \
        ::hipq::pg::enter([&] { name##_body(argument); });                                         \
    }                                                                                              \
    static void name##_body([[maybe_unused]] Datum argument)
