// Writes OpenMetrics text, according to its specification 1.0.
#include "metrics/exposition.hpp"

namespace hipq::metrics {

namespace {

constexpr std::string_view total = "_total";

std::string escape(std::string_view text)
{
    std::string escaped;
    for (const char each : text) {
        if (each == '\\' || each == '"')
            escaped += '\\';
        escaped += each == '\n' ? std::string("\\n") : std::string(1, each);
    }
    return escaped;
}

// PostgreSQL writes Infinity.
std::string number(const std::string &value)
{
    if (value == "Infinity")
        return "+Inf";
    return value == "-Infinity" ? "-Inf" : value;
}

std::string_view type_name(Usage usage)
{
    if (usage == Usage::counter)
        return "counter";
    return usage == Usage::histogram ? "histogram" : "gauge";
}

// A family whose name ends with a unit has this unit.
std::string_view unit_of(std::string_view family)
{
    for (const std::string_view unit : {"seconds", "bytes"})
        if (family.ends_with(unit) && family.size() > unit.size() &&
            family[family.size() - unit.size() - 1] == '_')
            return unit;
    return {};
}

// The elements of a numeric array in PostgreSQL's text format.
std::vector<std::string> elements(std::string_view array)
{
    std::vector<std::string> list;
    if (array.size() <= 2)
        return list;
    array = array.substr(1, array.size() - 2);
    while (true) {
        const std::size_t comma = array.find(',');
        list.emplace_back(array.substr(0, comma));
        if (comma == std::string_view::npos)
            return list;
        array.remove_prefix(comma + 1);
    }
}

}  // namespace

void Labels::add(std::string_view name, std::string_view value)
{
    if (!text.empty())
        text += ",";
    text.append(name).append("=\"").append(escape(value)).append("\"");
}

void Exposition::begin_family(const std::string &name, Usage usage, std::string_view help)
{
    usage_ = usage;
    family_ = name;
    if (usage == Usage::counter && family_.ends_with(total))
        family_.resize(family_.size() - total.size());
    text_.append("# TYPE ").append(family_).append(" ").append(type_name(usage)).append("\n");
    if (const std::string_view unit = unit_of(family_); !unit.empty())
        text_.append("# UNIT ").append(family_).append(" ").append(unit).append("\n");
    text_.append("# HELP ").append(family_).append(" ").append(escape(help)).append("\n");
}

void Exposition::add(const Labels &labels, const std::string &value)
{
    const std::string name = usage_ == Usage::counter ? family_ + std::string(total) : family_;
    sample(name, labels.text, number(value));
}

void Exposition::add(const Labels &labels, const HistogramValues &values)
{
    const std::vector<std::string> bounds = elements(values.bounds);
    const std::vector<std::string> counts = elements(values.counts);
    const auto bucket = [&](const std::string &bound, const std::string &count) {
        Labels with_bound = labels;
        with_bound.add("le", number(bound));
        sample(family_ + "_bucket", with_bound.text, count);
    };
    for (std::size_t i = 0; i < bounds.size() && i < counts.size(); ++i)
        bucket(bounds[i], counts[i]);
    bucket("Infinity", values.count);
    sample(family_ + "_sum", labels.text, number(values.sum));
    sample(family_ + "_count", labels.text, values.count);
}

void Exposition::sample(const std::string &name, const std::string &labels,
                        const std::string &value)
{
    text_ += name;
    if (!labels.empty())
        text_ += "{" + labels + "}";
    text_ += " " + value + "\n";
}

}  // namespace hipq::metrics
