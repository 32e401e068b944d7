// Functions that fail in every way at the boundary of C++ and PostgreSQL; sql/boundary.sql calls
// them. And two that take their time: one does not listen, for test/t/execute/deadlines.pl, one
// draws a commit out, for test/t/admin/drop_detached.pl.
#include <malloc.h>
#include <unistd.h>

#include <stdexcept>

#include "pg/guard.hpp"
#include "pg/spi.hpp"

extern "C" {
#pragma GCC visibility push(default)
PG_MODULE_MAGIC;
#pragma GCC visibility pop
}

namespace hipq {

namespace {

constinit int live = 0;

// Counts those of its kind that exist; long enough to own memory.
class Witness {
public:
    Witness() : text_(100, 'w') { ++live; }
    ~Witness() { --live; }
    Witness(const Witness &) = delete;
    Witness &operator=(const Witness &) = delete;
    std::size_t size() const { return text_.size(); }

private:
    std::string text_;
};

int raise_error()
{
    ereport(ERROR, errcode(ERRCODE_DIVISION_BY_ZERO), errmsg("raised in a guarded block"));
    return 0;
}

// Each level owns objects; the innermost raises in the PostgreSQL regime.
std::size_t descend(int depth)
{
    const Witness witness;
    const std::string text(1000, 'd');
    if (depth == 0)
        return static_cast<std::size_t>(pg::call([] { return raise_error(); }));
    return witness.size() + text.size() + descend(depth - 1);
}

// A guarded block that calls into C++, which has a guarded block of its own, and so on.
int nest(int depth)
{
    const Witness witness;
    return pg::call(
        [&] { return depth == 0 ? raise_error() : pg::enter([&] { return nest(depth - 1); }); });
}

struct Surroundings {
    sigjmp_buf *exception_stack = PG_exception_stack;
    ErrorContextCallback *context_stack = error_context_stack;
    MemoryContext memory = CurrentMemoryContext;
    bool operator==(const Surroundings &) const = default;
};

// What a failing block does to its surroundings before it fails.
void disturb(ErrorContextCallback &callback)
{
    callback.callback = [](void *) {};
    callback.arg = nullptr;
    callback.previous = error_context_stack;
    error_context_stack = &callback;
    ::MemoryContextSwitchTo(TopTransactionContext);
}

// Whether they are as before. A caught ERROR ends in an abort, so the answer is an error too.
template <class Function>
[[noreturn]] void judge(Function fail)
{
    const Surroundings before;
    bool caught = false;
    ErrorContextCallback callback{};
    try {
        pg::call([&] {
            disturb(callback);
            fail();
        });
    } catch (...) {
        caught = true;
    }
    const bool same = before == Surroundings{};
    HIPQ_RAISE(errcode(ERRCODE_RAISE_EXCEPTION),
               errmsg("%s, surroundings %s", caught ? "caught" : "not caught",
                      same ? "restored" : "lost"));
}

[[noreturn]] void throw_kind(std::string_view kind)
{
    const Witness witness;
    if (kind == "runtime_error")
        throw std::runtime_error("thrown by the test");
    if (kind == "empty")
        throw std::runtime_error("");
    if (kind == "long")
        throw std::runtime_error(std::string(1000, 'x'));
    if (kind == "int")
        throw 42;
    if (kind == "bad_alloc")
        throw std::bad_alloc();
    if (kind == "no row")
        pg::Rows(nullptr, 0, 0, 0).front();
    throw std::invalid_argument("no such kind");
}

constinit std::array<char, MAXPGPATH> file_of_commit{};

// At this point the writes of the transaction are visible, it still holds its locks, and no other
// session has got its invalidations.
void draw_commit_out(XactEvent event, void *)
{
    if (event != XACT_EVENT_COMMIT || !TransactionIdIsValid(::GetTopTransactionIdIfAny()))
        return;
    while (::access(file_of_commit.data(), F_OK) == 0)
        ::pg_usleep(1000);
}

}  // namespace

}  // namespace hipq

// Objects that are alive though nothing runs.
HIPQ_FUNCTION(guard_test_live)
{
    return Int32GetDatum(hipq::live);
}

HIPQ_FUNCTION(guard_test_descend)
{
    return Int64GetDatum(
        static_cast<std::int64_t>(hipq::descend(DatumGetInt32(fcinfo->args[0].value))));
}

HIPQ_FUNCTION(guard_test_nest)
{
    return Int32GetDatum(hipq::nest(DatumGetInt32(fcinfo->args[0].value)));
}

HIPQ_FUNCTION(guard_test_throw)
{
    const ::text *kind = hipq::pg::call([&] { return DatumGetTextPP(fcinfo->args[0].value); });
    hipq::throw_kind({VARDATA_ANY(kind), static_cast<std::size_t>(VARSIZE_ANY_EXHDR(kind))});
}

// An ERROR with everything an ERROR can carry.
HIPQ_FUNCTION(guard_test_fields)
{
    const hipq::Witness witness;
    hipq::pg::call([] {
        ereport(ERROR, errcode(MAKE_SQLSTATE('H', 'Q', '9', '9', '9')), errmsg("the message"),
                errdetail("The detail."), errhint("The hint."), errcontext("the context"),
                err_generic_string(PG_DIAG_SCHEMA_NAME, "the_schema"),
                err_generic_string(PG_DIAG_TABLE_NAME, "the_table"),
                err_generic_string(PG_DIAG_COLUMN_NAME, "the_column"),
                err_generic_string(PG_DIAG_DATATYPE_NAME, "the_type"),
                err_generic_string(PG_DIAG_CONSTRAINT_NAME, "the_constraint"));
    });
    return Datum{0};
}

HIPQ_FUNCTION(guard_test_surroundings_after_error)
{
    hipq::judge([] { hipq::raise_error(); });
}

HIPQ_FUNCTION(guard_test_surroundings_after_exception)
{
    hipq::judge([] { throw std::runtime_error("passes"); });
}

// Without any failure.
HIPQ_FUNCTION(guard_test_surroundings_after_success)
{
    const hipq::Surroundings before;
    const int answer = hipq::pg::call([] { return 42; });
    hipq::pg::call([] { ::pfree(::palloc(100)); });
    return BoolGetDatum(answer == 42 && before == hipq::Surroundings{});
}

// Bytes in use by this process, of PostgreSQL's and of C++'s.
HIPQ_FUNCTION(guard_test_memory)
{
    const struct mallinfo2 info = ::mallinfo2();
    return Int64GetDatum(static_cast<std::int64_t>(info.uordblks + info.hblkhd));
}

// Sleeps in the PostgreSQL regime until something interrupts it.
HIPQ_FUNCTION(guard_test_sleep)
{
    const hipq::Witness witness;
    hipq::pg::call([] { DirectFunctionCall1(::pg_sleep, Float8GetDatum(60)); });
    return Datum{0};
}

// Works as long as there is a file of that name, and never checks for interrupts.
HIPQ_FUNCTION(guard_test_spin)
{
    const ::text *path = hipq::pg::call([&] { return DatumGetTextPP(fcinfo->args[0].value); });
    const std::string name(VARDATA_ANY(path), static_cast<std::size_t>(VARSIZE_ANY_EXHDR(path)));
    while (::access(name.c_str(), F_OK) == 0) {
    }
    return Datum{0};
}

// From now on commits of this session end when the file of that name is gone. Commits that wrote
// nothing end at once: PostgreSQL itself makes such transactions, also while a session is idle, to
// process invalidations of other sessions.
HIPQ_FUNCTION(guard_test_draw_commits_out)
{
    hipq::pg::call([&] {
        ::text_to_cstring_buffer(DatumGetTextPP(fcinfo->args[0].value), hipq::file_of_commit.data(),
                                 hipq::file_of_commit.size());
        ::RegisterXactCallback(hipq::draw_commit_out, nullptr);
    });
    return Datum{0};
}
