// Checks the arguments of SQL functions: queues, counts, rights.
#include "catalog/checks.hpp"

#include "catalog/rights.hpp"
#include "pg/transaction.hpp"

namespace hipq::catalog {

namespace {

constexpr std::int64_t century = 36'525 * USECS_PER_DAY;

std::string joined(std::span<const char *const> words)
{
    std::string text;
    for (const char *word : words)
        text.append(text.empty() ? "" : ", ").append(word);
    return text;
}

bool can_be_kept_for(std::int64_t length)
{
    return length >= USECS_PER_MINUTE && length <= century;
}

}  // namespace

std::string require_role(Oid role)
{
    const char *name = pg::call([&] { return ::GetUserNameFromId(role, true); });
    if (name == nullptr)
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
                   errmsg("role with OID %u does not exist", role));
    return name;
}

void demand_superuser(const char *action)
{
    if (!pg::call([] { return ::superuser(); }) && caller() != pg::extension_owner())
        HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                   errmsg("only a superuser or the owner of the extension may %s", action));
}

void check_retention(const std::optional<std::int64_t> &value)
{
    if (value.has_value() && *value != 0 && !can_be_kept_for(*value))
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("retention is out of range"),
                   errhint("Give a duration of at least 1 minute and at most 100 years, or 0 to "
                           "keep no job that succeeded."));
}

void check_keeping(const char *name, const std::optional<std::int64_t> &value)
{
    if (value.has_value() && !can_be_kept_for(*value))
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s is out of range", name),
                   errhint("Give a duration of at least 1 minute and at most 100 years."));
}

std::int64_t check_delay(const char *name, std::int64_t value)
{
    if (value < 0 || value > century)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s is out of range", name),
                   errhint("Give a duration from 0 to 100 years."));
    return value;
}

std::int64_t check_more(std::int64_t more)
{
    const std::int64_t length = check_delay("more", more);
    if (length == 0)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("a job can only be given more time"),
                   errhint("Give a positive duration."));
    return (length - 1) / USECS_PER_SEC + 1;
}

void raise_too_long(std::int64_t most)
{
    HIPQ_RAISE(
        errcode(ERRCODE_INVALID_PARAMETER_VALUE),
        errmsg("the job would run longer than its queue allows"),
        errdetail("The cap is max_timeout = %lld (seconds), from the start of the attempt on.",
                  static_cast<long long>(most)),
        errhint("The queue owner sets it with hipq.alter_queue()."));
}

std::int64_t check_most(std::int32_t max_jobs)
{
    constexpr std::int32_t limit = 1'000'000;
    if (max_jobs < 1 || max_jobs > limit)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("max_jobs must be from 1 to %d", limit),
                   errhint("Call again for the rest."));
    return max_jobs;
}

void check_reset(const std::vector<std::string> &reset, std::span<const char *const> known)
{
    for (const std::string &entry : reset) {
        if (std::find(known.begin(), known.end(), entry) != known.end())
            continue;
        const std::string list = joined(known);
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("\"%s\" cannot be reset", entry.c_str()),
                   errhint("What can be reset: %s.", list.c_str()));
    }
}

void require_object(const pg::Arguments &arguments, pg::Argument which)
{
    if (!arguments.has(which))
        return;
    const Datum value = arguments.raw(which, JSONBOID).value;
    pg::check_description(which.name(), value);
    if (!pg::call([&] { return JB_ROOT_IS_OBJECT(DatumGetJsonbP(value)); }))
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("%s must be a JSON object", which.name()));
}

void raise_unknown_type(const std::string &name, const std::string &queue)
{
    HIPQ_RAISE(
        errcode(ERRCODE_UNDEFINED_OBJECT),
        errmsg("job type \"%s\" of queue \"%s\" does not exist", name.c_str(), queue.c_str()),
        errhint("Register it with hipq.register_job_type()."));
}

const Queue &require_own_queue(const Catalogue &catalogue, std::string_view full_name)
{
    const Queue &queue = require_known_queue(catalogue, full_name);
    require_owner(queue);
    return queue;
}

}  // namespace hipq::catalog
