// Reads a worker's report of its own health.
//
// It reads value by value; a report counts as a whole or not at all.
#include "external/self_report.hpp"

extern "C" {
#include "utils/resowner.h"
}

namespace hipq::external {

namespace {

enum class Kind : unsigned char { missing, number, text, other };

struct Value {
    Kind kind;
    double number;
    const char *text;  // in the current memory context
};

// Call inside pg::call() only. JSON's null counts as missing.
Value value_of(Jsonb *object, const char *key)
{
    JsonbValue buffer;
    const JsonbValue *found = ::getKeyJsonValueFromContainer(
        &object->root, key, static_cast<int>(std::strlen(key)), &buffer);
    if (found == nullptr || found->type == jbvNull)
        return {Kind::missing, 0, nullptr};
    if (found->type == jbvNumeric)
        return {Kind::number,
                DatumGetFloat8(DirectFunctionCall1(::numeric_float8_no_overflow,
                                                   NumericGetDatum(found->val.numeric))),
                nullptr};
    if (found->type == jbvString)
        return {Kind::text, 0,
                ::pnstrdup(found->val.string.val, static_cast<Size>(found->val.string.len))};
    return {Kind::other, 0, nullptr};
}

class Reader {
public:
    explicit Reader(Datum json) : json_(json) {}

    core::Health health(const char *key)
    {
        const Value value = find(key);
        if (value.kind == Kind::missing)
            return core::Health::healthy;
        const auto parsed =
            value.kind == Kind::text ? core::parse_health(value.text) : std::nullopt;
        if (!parsed.has_value())
            complain(key, "is not one of healthy, unknown, degraded and unhealthy");
        return parsed.value_or(core::Health::healthy);
    }

    double number(const char *key, double most)
    {
        const Value value = find(key);
        if (value.kind == Kind::missing)
            return 0;
        if (value.kind != Kind::number || !(value.number >= 0 && value.number <= most))
            complain(key, "is not a number that is at least 0");
        return problem_.empty() ? value.number : 0;
    }

    void complain(const char *key, const char *what)
    {
        if (problem_.empty())
            problem_ = std::string("\"") + key + "\" " + what + ".";
    }

    const std::string &problem() const { return problem_; }

private:
    Value find(const char *key) const
    {
        return pg::call([&] { return value_of(DatumGetJsonbP(json_), key); });
    }
    Datum json_;
    std::string problem_;
};

}  // namespace

ReadReport read_self_report(Datum json)
{
    constexpr double most = std::numeric_limits<std::int32_t>::max();
    constexpr double most_executions = 1e15;
    if (!pg::call([&] { return JB_ROOT_IS_OBJECT(DatumGetJsonbP(json)); }))
        return std::string("It is not a JSON object.");
    Reader reader(json);
    core::SelfReport report;
    report.status = reader.health("status");
    report.counts.consecutive_failures =
        static_cast<int>(reader.number("consecutive_failures", most));
    report.counts.executions =
        static_cast<std::int64_t>(reader.number("total_executions", most_executions));
    report.counts.failures =
        static_cast<std::int64_t>(reader.number("failed_executions", most_executions));
    report.counts.average_ms = reader.number("average_execution_time_ms", most_executions);
    report.queue_depth = static_cast<int>(reader.number("queue_depth", most));
    if (report.counts.failures > report.counts.executions)
        reader.complain("failed_executions", "is more than \"total_executions\"");
    if (!reader.problem().empty())
        return reader.problem();
    return report;
}

std::optional<Datum> health_in(Datum json)
{
    const Jsonb *found = pg::call([&]() -> Jsonb * {
        Jsonb *object = DatumGetJsonbP(json);
        JsonbValue *value = ::getKeyJsonValueFromContainer(&object->root, "health", 6, nullptr);
        return value == nullptr ? nullptr : ::JsonbValueToJsonb(value);
    });
    return found == nullptr ? std::nullopt : std::optional(JsonbPGetDatum(found));
}

std::optional<Datum> parse_json(const std::string &text)
{
    MemoryContext context = CurrentMemoryContext;
    ResourceOwner owner = CurrentResourceOwner;
    pg::call([&] {
        ::BeginInternalSubTransaction(nullptr);
        ::MemoryContextSwitchTo(context);
    });
    std::optional<Datum> json;
    try {
        json = pg::call(
            [&] { return DirectFunctionCall1(::jsonb_in, CStringGetDatum(text.c_str())); });
    } catch (const pg::Error &) {
        json.reset();
    }
    pg::call([&] {
        if (json.has_value())
            ::ReleaseCurrentSubTransaction();
        else
            ::RollbackAndReleaseCurrentSubTransaction();
        ::MemoryContextSwitchTo(context);
        CurrentResourceOwner = owner;
    });
    return json;
}

void warn_of_report(const std::string &worker, const std::string &problem)
{
    pg::call([&] {
        ereport(WARNING, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("what worker \"%s\" says of its health is kept out", worker.c_str()),
                errdetail("%s", problem.c_str()));
    });
}

}  // namespace hipq::external
