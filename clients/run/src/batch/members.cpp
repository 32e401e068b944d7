// The members of a JSON object, each as its original text: numbers keep all their digits.
#include "batch/members.hpp"

#include <nlohmann/json.hpp>

#include <charconv>

namespace hipq::run {

namespace {

class Reader {
public:
    explicit Reader(const std::string &text) : text_(text) {}

    Members members()
    {
        Members members;
        demand(skip_white() == '{');
        ++at_;
        if (skip_white() == '}')
            ++at_;
        else
            while (take_member(members) == ',')
                ++at_;
        demand(skip_white() == '\0' && at_ >= text_.size());
        return members;
    }

private:
    static void demand(bool holds)
    {
        if (!holds)
            throw std::invalid_argument("not a JSON object");
    }

    char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    char skip_white()
    {
        at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
        return next();
    }

    // The next token: a comma, or else the end of the object.
    char take_member(Members &members)
    {
        skip_white();
        const std::string quoted = whole_pairs(taken([this] { skip_string(); }));
        const nlohmann::json name = nlohmann::json::parse(quoted, nullptr, false);
        demand(name.is_string() && skip_white() == ':');
        ++at_;
        skip_white();
        std::string value = taken([this] { skip_value(); });
        demand(!value.empty());
        members[name] = std::move(value);
        if (skip_white() == '}')
            return text_[at_++];
        demand(next() == ',');
        return ',';
    }

    template <typename Skip>
    std::string taken(const Skip &skip)
    {
        const std::size_t from = at_;
        skip();
        const std::string taken = text_.substr(from, at_ - from);
        return taken.substr(0, taken.find_last_not_of(" \t\r\n") + 1);
    }

    void skip_string()
    {
        demand(next() == '"');
        while (true) {
            at_ = text_.find_first_of("\"\\", at_ + 1);
            demand(at_ < text_.size());
            if (text_[at_++] == '"')
                return;
        }
    }

    // To the next comma or bracket.
    void skip_value()
    {
        for (int depth = 0;; ++at_) {
            at_ = text_.find_first_of("\"[]{},", at_);
            demand(at_ < text_.size());
            const char found = next();
            if (found == '"') {
                skip_string();
                --at_;
            } else if (found == '[' || found == '{') {
                ++depth;
            } else if (depth == 0) {
                return;
            } else if (found != ',') {
                --depth;
            }
        }
    }

    const std::string &text_;
    std::size_t at_ = 0;
};

// The code of the escape at this place; 0: there is none.
unsigned escaped_at(const std::string &json, std::size_t at)
{
    unsigned code = 0;
    if (json.compare(at, 2, "\\u") != 0 || json.size() < at + 6)
        return 0;
    std::from_chars(json.data() + at + 2, json.data() + at + 6, code, 16);
    return code;
}

}  // namespace

std::string whole_pairs(std::string json)
{
    for (std::size_t at = 0; (at = json.find('\\', at)) != std::string::npos;) {
        const unsigned code = escaped_at(json, at);
        const unsigned next = (code & 0xFC00) == 0xD800 ? escaped_at(json, at + 6) : 0;
        const bool is_pair = (next & 0xFC00) == 0xDC00;
        if ((code & 0xF800) == 0xD800 && !is_pair)
            json.replace(at, 6, "\\ufffd");
        at += is_pair ? 12 : 2;
    }
    return json;
}

Members members_of(const std::string &object)
{
    return Reader(object).members();
}

}  // namespace hipq::run
