// Checks job_data against the parameters that a job type declares.
//
// Reads jsonb as PostgreSQL's own functions do; the rules are in core/job/parameters.hpp.
#include "catalog/job_parameters.hpp"

#include "pg/compat.hpp"
#include "pg/demand.hpp"

extern "C" {
#include "utils/numeric.h"
}

namespace hipq::catalog {

namespace {

using core::JobParameter;
using core::JsonKind;

// ---- reading jsonb ----

struct Pair {
    JsonbValue key;
    JsonbValue value;
};

std::string_view text_of(const JsonbValue &string)
{
    return {string.val.string.val, static_cast<std::size_t>(string.val.string.len)};
}

// Returns the elements of an array, or the keys and values of an object.
std::span<const Pair> content_of(JsonbContainer *container)
{
    const std::size_t count = JsonContainerSize(container);
    Pair *pairs = pg::call([&] {
        auto *found = static_cast<Pair *>(::palloc(sizeof(Pair) * (count + 1)));
        JsonbIterator *iterator = ::JsonbIteratorInit(container);
        JsonbValue value;
        std::size_t i = 0;
        for (auto token = ::JsonbIteratorNext(&iterator, &value, true); token != WJB_DONE;
             token = ::JsonbIteratorNext(&iterator, &value, true)) {
            if (token == WJB_KEY)
                found[i].key = value;
            else if (token == WJB_VALUE || token == WJB_ELEM)
                found[i++].value = value;
        }
        return found;
    });
    return {pairs, count};
}

bool is_integral(Numeric number)
{
    return pg::call([&] {
        const Datum whole =
            DirectFunctionCall2(::numeric_trunc, NumericGetDatum(number), Int32GetDatum(0));
        return DatumGetBool(DirectFunctionCall2(::numeric_eq, whole, NumericGetDatum(number)));
    });
}

JsonKind kind_of(const JsonbContainer *container)
{
    return JsonContainerIsObject(container) ? JsonKind::object : JsonKind::array;
}

JsonKind kind_of(const JsonbValue &value)
{
    switch (value.type) {
    case jbvNull:
        return JsonKind::null;
    case jbvBool:
        return JsonKind::boolean;
    case jbvNumeric:
        return is_integral(value.val.numeric) ? JsonKind::integer : JsonKind::number;
    case jbvString:
        return JsonKind::string;
    default:
        return kind_of(value.val.binary.data);
    }
}

// Returns the kind of a whole value, which may be a scalar.
JsonKind kind_of(Jsonb *json)
{
    return JB_ROOT_IS_SCALAR(json) ? kind_of(content_of(&json->root).front().value)
                                   : kind_of(&json->root);
}

Jsonb *json_of(Datum datum)
{
    return pg::call([&] { return DatumGetJsonbP(datum); });
}

// Returns null if the object has no such member.
const JsonbValue *find(Jsonb *object, std::string_view name)
{
    return pg::call([&] {
        return ::getKeyJsonValueFromContainer(&object->root, name.data(),
                                              static_cast<int>(name.size()), nullptr);
    });
}

// ---- declarations ----

core::JsonMember member_of(const Pair &declared)
{
    const JsonbValue &value = declared.value;
    core::JsonMember member{std::string(text_of(declared.key)), kind_of(value)};
    if (value.type == jbvString)
        member.words.emplace_back(text_of(value));
    if (value.type == jbvBool)
        member.is_true = value.val.boolean;
    if (member.kind == JsonKind::array)
        for (const Pair &element : content_of(value.val.binary.data)) {
            if (element.value.type == jbvString)
                member.words.emplace_back(text_of(element.value));
            else
                member.has_words_only = false;
        }
    return member;
}

std::variant<JobParameter, core::Problem> read_parameter(const Pair &declared)
{
    const std::string name(text_of(declared.key));
    if (const JsonKind kind = kind_of(declared.value); kind != JsonKind::object)
        return core::not_a_declaration(name, kind);
    std::vector<core::JsonMember> members;
    for (const Pair &member : content_of(declared.value.val.binary.data))
        members.push_back(member_of(member));
    return core::read_parameter(name, members);
}

std::variant<std::vector<JobParameter>, core::Problem> read_all(Jsonb *declared)
{
    std::vector<JobParameter> all;
    for (const Pair &one : content_of(&declared->root)) {
        auto read = read_parameter(one);
        if (auto *problem = std::get_if<core::Problem>(&read))
            return std::move(*problem);
        all.push_back(std::move(std::get<JobParameter>(read)));
    }
    return all;
}

// Returns the object of all default values.
std::vector<char> defaults_of(Jsonb *declared)
{
    const std::span<const Pair> all = content_of(&declared->root);
    const Jsonb *defaults = pg::call([&] {
        constexpr const char *word = "default";
        pg::JsonbBuilder built{};
        pg::push_jsonb(built, WJB_BEGIN_OBJECT);
        for (const Pair &one : all) {
            JsonbValue *value = ::getKeyJsonValueFromContainer(
                one.value.val.binary.data, word, static_cast<int>(std::strlen(word)), nullptr);
            if (value == nullptr)
                continue;
            pg::push_jsonb(built, WJB_KEY, const_cast<JsonbValue *>(&one.key));
            pg::push_jsonb(built, WJB_VALUE, value);
        }
        pg::push_jsonb(built, WJB_END_OBJECT);
        return ::JsonbValueToJsonb(built.result);
    });
    const auto *bytes = reinterpret_cast<const char *>(defaults);
    return {bytes, bytes + VARSIZE(defaults)};
}

// ---- job_data ----

struct Findings {
    std::optional<core::Problem> problem{};
    bool lacks_defaults = false;
};

Findings compare(const JobType &type, const JobParameters &parameters, Jsonb *data)
{
    if (!JB_ROOT_IS_OBJECT(data))
        return {core::not_an_object(kind_of(data), type.name)};
    Findings findings;
    for (const JobParameter &parameter : parameters.all) {
        const JsonbValue *value = find(data, parameter.name);
        findings.lacks_defaults =
            findings.lacks_defaults || (value == nullptr && parameter.has_default);
        const auto kind = value == nullptr ? std::nullopt : std::optional(kind_of(*value));
        if (!findings.problem.has_value())
            findings.problem = core::check_parameter(parameter, kind, type.name);
    }
    return findings;
}

Datum empty_object()
{
    return pg::call([] { return DirectFunctionCall1(::jsonb_in, CStringGetDatum("{}")); });
}

[[noreturn]] void refuse(const core::Problem &problem, std::optional<std::int64_t> job)
{
    HIPQ_RAISE(
        errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg_internal("%s", problem.message.c_str()),
        job.has_value() ? errdetail("The data are those of job %lld.", static_cast<long long>(*job))
                        : 0,
        errhint("%s", problem.hint.c_str()));
}

// Values in the data take precedence over defaults.
Datum with_defaults(const JobParameters &parameters, const Jsonb *data)
{
    const Datum all = pg::call([&] {
        return DirectFunctionCall2(::jsonb_concat, PointerGetDatum(parameters.defaults.data()),
                                   JsonbPGetDatum(data));
    });
    pg::check_job_data(all);
    return all;
}

// ---- masks ----

// Call inside pg::call() only.
JsonbValue string_value(std::string_view text)
{
    JsonbValue value;
    value.type = jbvString;
    value.val.string.val = const_cast<char *>(text.data());
    value.val.string.len = static_cast<int>(text.size());
    return value;
}

// Returns the object with the named members set to the value. Call inside pg::call() only.
Datum with_value(const Jsonb *object, std::span<const std::string_view> names, JsonbValue value)
{
    pg::JsonbBuilder others{};
    pg::push_jsonb(others, WJB_BEGIN_OBJECT);
    for (const std::string_view name : names) {
        JsonbValue key = string_value(name);
        pg::push_jsonb(others, WJB_KEY, &key);
        pg::push_jsonb(others, WJB_VALUE, &value);
    }
    pg::push_jsonb(others, WJB_END_OBJECT);
    return DirectFunctionCall2(::jsonb_concat, JsonbPGetDatum(object),
                               JsonbPGetDatum(::JsonbValueToJsonb(others.result)));
}

// ---- a whole job ----

// The members of a job's row that may hold a value that means "none", as to_jsonb() writes them in
// any time zone.
constexpr auto texts_or_none = std::to_array<std::string_view>(
    {"job_key", "error", "throttle_key", "time_windows", "retry_reason", "shard_key"});
constexpr auto times_or_never =
    std::to_array<std::string_view>({"accepted_time", "deadline", "expires_time"});
constexpr auto never_texts =
    std::to_array<std::string_view>({"9999-01-01T", "9998-12-31T", "infinity"});

bool begins_like_never(std::string_view time)
{
    return std::ranges::any_of(never_texts,
                               [&](std::string_view never) { return time.starts_with(never); });
}

// Replaces these values by null.
Datum without_none(Datum job)
{
    Jsonb *whole = json_of(job);
    if (!JB_ROOT_IS_OBJECT(whole))
        return job;
    std::vector<std::string_view> names;
    const auto add = [&](std::string_view name, auto &&is_none) {
        const JsonbValue *value = find(whole, name);
        if (value != nullptr && value->type == jbvString && is_none(text_of(*value)))
            names.push_back(name);
    };
    for (const std::string_view name : texts_or_none)
        add(name, [](std::string_view text) { return text == core::none_text; });
    for (const std::string_view name : times_or_never)
        add(name, begins_like_never);
    return names.empty() ? job : pg::call([&] {
        JsonbValue null;
        null.type = jbvNull;
        return with_value(whole, names, null);
    });
}

Datum with_masked_data(const JobType *type, Datum job)
{
    if (type == nullptr || type->parameters == nullptr || !type->parameters->has_secrets)
        return job;
    static constexpr std::array<std::string_view, 1> member{"job_data"};
    Jsonb *whole = json_of(job);
    const JsonbValue *data = JB_ROOT_IS_OBJECT(whole) ? find(whole, member.front()) : nullptr;
    if (data == nullptr)
        return job;
    const Datum shown =
        masked(type, pg::call([&] {
                   return JsonbPGetDatum(::JsonbValueToJsonb(const_cast<JsonbValue *>(data)));
               }));
    return pg::call([&] {
        JsonbValue value;
        value.type = jbvBinary;
        value.val.binary.data = &DatumGetJsonbP(shown)->root;
        value.val.binary.len = static_cast<int>(VARSIZE(DatumGetPointer(shown)) - VARHDRSZ);
        return with_value(whole, member, value);
    });
}

}  // namespace

std::shared_ptr<const JobParameters> read_job_parameters(Datum declared, bool is_checked_at_start)
{
    Jsonb *object = json_of(declared);
    if (!JB_ROOT_IS_OBJECT(object))
        return nullptr;
    auto read = read_all(object);
    auto *all = std::get_if<std::vector<JobParameter>>(&read);
    if (all == nullptr || all->empty())
        return nullptr;
    auto parameters = std::make_shared<JobParameters>();
    const auto has_default = [](const JobParameter &parameter) { return parameter.has_default; };
    const auto is_secret = [](const JobParameter &parameter) { return parameter.is_secret; };
    if (std::ranges::any_of(*all, has_default))
        parameters->defaults = defaults_of(object);
    parameters->has_secrets = std::ranges::any_of(*all, is_secret);
    parameters->is_checked_at_start = is_checked_at_start;
    parameters->all = std::move(*all);
    return parameters;
}

void check_job_parameters(Datum declared)
{
    const auto read = read_all(json_of(declared));
    if (const auto *problem = std::get_if<core::Problem>(&read))
        pg::demand(*problem);
}

pg::RawValue complete_job_data(const JobType &type, pg::RawValue data,
                               std::optional<std::int64_t> job)
{
    if (type.parameters == nullptr)
        return data;
    const JobParameters &parameters = *type.parameters;
    Jsonb *given = json_of(data.null ? empty_object() : data.value);
    const Findings findings = compare(type, parameters, given);
    if (findings.problem.has_value() && !parameters.is_checked_at_start)
        refuse(*findings.problem, job);
    if (!findings.lacks_defaults)
        return data;
    return {JSONBOID, with_defaults(parameters, given), false};
}

std::optional<core::Problem> what_does_not_fit(const JobType &type, pg::RawValue data)
{
    if (type.parameters == nullptr || !type.parameters->is_checked_at_start)
        return std::nullopt;
    return compare(type, *type.parameters, json_of(data.value)).problem;
}

Datum masked(const JobType *type, Datum data)
{
    if (type == nullptr || type->parameters == nullptr || !type->parameters->has_secrets)
        return data;
    Jsonb *given = json_of(data);
    if (!JB_ROOT_IS_OBJECT(given))  // the value may itself be the secret
        return pg::call([] {
            JsonbValue mask = string_value(core::masked_text);
            return JsonbPGetDatum(::JsonbValueToJsonb(&mask));
        });
    std::vector<std::string_view> secrets;
    for (const JobParameter &parameter : type->parameters->all)
        if (parameter.is_secret && find(given, parameter.name) != nullptr)
            secrets.emplace_back(parameter.name);
    return secrets.empty() ? data : pg::call([&] {
        return with_value(given, secrets, string_value(core::masked_text));
    });
}

Datum masked_job(const JobType *type, Datum job)
{
    return with_masked_data(type, without_none(job));
}

}  // namespace hipq::catalog
