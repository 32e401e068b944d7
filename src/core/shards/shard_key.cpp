// Parses the expression by which a sharded queue divides its jobs.
#include "core/shards/shard_key.hpp"

#include <algorithm>
#include <array>

namespace hipq::core {

namespace {

constexpr std::array columns{Column::shard_key, Column::job_key, Column::throttle_key,
                             Column::job_type};

// Reads a text from the front.
class Reader {
public:
    explicit Reader(std::string_view text) : rest_(text) {}

    bool take(std::string_view token)
    {
        skip_spaces();
        if (!rest_.starts_with(token))
            return false;
        rest_.remove_prefix(token.size());
        return true;
    }
    // A quoted string, in which '' stands for a quote; nothing: there is none.
    std::optional<std::string> take_string()
    {
        if (!take("'"))
            return std::nullopt;
        std::string value;
        while (!rest_.empty()) {
            const char next = rest_.front();
            rest_.remove_prefix(1);
            if (next != '\'')
                value += next;
            else if (rest_.starts_with('\''))
                value += take_front();
            else
                return value;
        }
        return std::nullopt;
    }
    bool at_end()
    {
        skip_spaces();
        return rest_.empty();
    }

private:
    char take_front()
    {
        const char front = rest_.front();
        rest_.remove_prefix(1);
        return front;
    }
    void skip_spaces()
    {
        rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size()));
    }

    std::string_view rest_;
};

// {customer,id}: names without quotes.
std::optional<std::vector<std::string>> parse_array(std::string_view text)
{
    if (text.size() < 2 || text.front() != '{' || text.back() != '}' ||
        text.find_first_of("\"\\ ") != std::string_view::npos)
        return std::nullopt;
    text = text.substr(1, text.size() - 2);
    std::vector<std::string> path;
    for (;;) {
        const std::size_t comma = std::min(text.find(','), text.size());
        if (comma == 0)
            return std::nullopt;
        path.emplace_back(text.substr(0, comma));
        if (comma == text.size())
            return path;
        text.remove_prefix(comma + 1);
    }
}

std::optional<std::vector<std::string>> parse_path(Reader &reader)
{
    if (reader.take("#>>")) {
        const auto array = reader.take_string();
        return array.has_value() ? parse_array(*array) : std::nullopt;
    }
    std::vector<std::string> path;
    for (bool is_last = false; !is_last;) {
        is_last = reader.take("->>");
        if (!is_last && !reader.take("->"))
            return std::nullopt;
        auto name = reader.take_string();
        if (!name.has_value())
            return std::nullopt;
        path.push_back(std::move(*name));
    }
    return path;
}

}  // namespace

std::optional<ShardKey> parse_shard_key(std::string_view text)
{
    const auto column =
        std::find_if(columns.begin(), columns.end(), [&](Column one) { return name(one) == text; });
    if (column != columns.end())
        return ShardKey{*column, {}};
    Reader reader(text);
    if (!reader.take("job_data"))
        return std::nullopt;
    auto path = parse_path(reader);
    if (!path.has_value() || !reader.at_end())
        return std::nullopt;
    return ShardKey{std::nullopt, std::move(*path)};
}

}  // namespace hipq::core
