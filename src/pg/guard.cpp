// Turns ERROR into exceptions and exceptions into ERROR.
//
// This is the only file with sigsetjmp. It copies errors across the boundary.
#include "pg/guard.hpp"

namespace hipq::pg {

namespace {

std::optional<std::string> optional_text(const char *text)
{
    return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

char *copy_text(const std::string &text) noexcept
{
    auto *copy = static_cast<char *>(
        ::MemoryContextAllocExtended(CurrentMemoryContext, text.size() + 1, MCXT_ALLOC_NO_OOM));
    if (copy != nullptr)
        std::memcpy(copy, text.c_str(), text.size() + 1);
    return copy;
}

char *copy_text(const std::optional<std::string> &text) noexcept
{
    return text.has_value() ? copy_text(*text) : nullptr;
}

// Removes the error that PostgreSQL just raised from its stack. Returns null if even that fails for
// lack of memory.
ErrorData *take_error_data()
{
    sigjmp_buf *const outer = PG_exception_stack;
    ErrorData *volatile data = nullptr;
    sigjmp_buf buffer;
    if (sigsetjmp(buffer, 0) == 0) {
        PG_exception_stack = &buffer;
        data = ::CopyErrorData();
    }
    PG_exception_stack = outer;
    ::FlushErrorState();
    return data;
}

// What run_guarded() restores, however it is left.
class Surroundings {
public:
    void restore() const
    {
        PG_exception_stack = exception_stack_;
        error_context_stack = context_stack_;
    }
    void restore_all() const
    {
        restore();
        ::MemoryContextSwitchTo(memory_);
    }

private:
    sigjmp_buf *exception_stack_ = PG_exception_stack;
    ErrorContextCallback *context_stack_ = error_context_stack;
    MemoryContext memory_ = CurrentMemoryContext;
};

}  // namespace

bool Error::is_raised_by_language() const
{
    if (filename_ == nullptr || funcname_ == nullptr)
        return false;
    const std::string_view file(filename_);
    return (file == "pl_exec.c" && std::string_view(funcname_) == "exec_stmt_raise") ||
           file == "plpy_elog.c" || file == "plperl.c" || file == "pltcl.c";
}

Error::Error(const ErrorData &data)
    : sqlerrcode_(data.sqlerrcode), output_to_server_(data.output_to_server),
      output_to_client_(data.output_to_client), filename_(data.filename), lineno_(data.lineno),
      funcname_(data.funcname), domain_(data.domain),
      message_(data.message == nullptr ? "" : data.message), detail_(optional_text(data.detail)),
      detail_log_(optional_text(data.detail_log)), hint_(optional_text(data.hint)),
      context_(optional_text(data.context)), schema_name_(optional_text(data.schema_name)),
      table_name_(optional_text(data.table_name)), column_name_(optional_text(data.column_name)),
      datatype_name_(optional_text(data.datatype_name)),
      constraint_name_(optional_text(data.constraint_name)),
      internal_query_(optional_text(data.internalquery)), internal_position_(data.internalpos)
{
}

ErrorData *Error::copy_for_rethrow() const noexcept
{
    auto *data = static_cast<ErrorData *>(::MemoryContextAllocExtended(
        CurrentMemoryContext, sizeof(ErrorData), MCXT_ALLOC_NO_OOM | MCXT_ALLOC_ZERO));
    if (data == nullptr)
        return nullptr;
    data->elevel = ERROR;
    data->output_to_server = output_to_server_;
    data->output_to_client = output_to_client_;
    data->filename = filename_;
    data->lineno = lineno_;
    data->funcname = funcname_;
    data->domain = domain_;
    data->context_domain = domain_;
    data->sqlerrcode = sqlerrcode_;
    data->message = copy_text(message_);
    data->detail = copy_text(detail_);
    data->detail_log = copy_text(detail_log_);
    data->hint = copy_text(hint_);
    data->context = copy_text(context_);
    data->schema_name = copy_text(schema_name_);
    data->table_name = copy_text(table_name_);
    data->column_name = copy_text(column_name_);
    data->datatype_name = copy_text(datatype_name_);
    data->constraint_name = copy_text(constraint_name_);
    data->assoc_context = CurrentMemoryContext;
    return data->message == nullptr ? nullptr : data;
}

[[gnu::noinline]] void run_guarded(void (*function)(void *), void *argument)
{
    const Surroundings surroundings;
    sigjmp_buf buffer;
    if (sigsetjmp(buffer, 0) == 0) {  // without the signal mask, as PostgreSQL does
        PG_exception_stack = &buffer;
        try {
            function(argument);
        } catch (...) {
            surroundings.restore_all();
            throw;
        }
        surroundings.restore();
        return;
    }
    surroundings.restore_all();
    ErrorData *data = take_error_data();
    if (data == nullptr)
        throw std::bad_alloc();
    Error error(*data);
    ::FreeErrorData(data);
    throw error;
}

void rethrow_as_error(ErrorData *failure)
{
    if (failure == nullptr)
        ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"));
    ::ReThrowError(failure);
    pg_unreachable();
}

void raise_internal_error(const char *what)
{
    ereport(ERROR, errcode(ERRCODE_INTERNAL_ERROR),
            errmsg("unexpected exception in hipq: %s", what));
    pg_unreachable();
}

}  // namespace hipq::pg
