// Metrics as OpenMetrics text: families with their type, unit and help, and samples with labels.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hipq::metrics {

enum class Usage { label, gauge, counter, histogram };

// A column of a query. A counter's name ends in _total; a histogram has three more columns: its
// name with _bucket, _sum and _count.
struct Column {
    std::string_view name;
    Usage usage;
    std::string_view help;
};

struct Labels {
    std::string text;  // 'a="b",c="d"'; empty: none
    void add(std::string_view name, std::string_view value);
};

// In PostgreSQL's text format.
struct HistogramValues {
    std::string bounds;  // an array: {0.001,0.002}
    std::string counts;  // as many elements: cumulative
    std::string sum;
    std::string count;
};

// Builds the text. Samples of a family follow its head.
class Exposition {
public:
    // name: with the _total of a counter.
    void begin_family(const std::string &name, Usage usage, std::string_view help);
    void add(const Labels &labels, const std::string &value);
    void add(const Labels &labels, const HistogramValues &values);
    std::string finish() const { return text_ + "# EOF\n"; }

private:
    void sample(const std::string &name, const std::string &labels, const std::string &value);
    std::string text_;
    std::string family_;  // without _total
    Usage usage_ = Usage::gauge;
};

}  // namespace hipq::metrics
