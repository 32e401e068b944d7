// Measures the depth and size of a jsonb value.
//
// jsonb is a tree of containers, each a header, the entries of its elements, and their data
// (utils/jsonb.h). A stack of open containers replaces recursion, because recursion would fail at
// the very depth that this code looks for.
#include "pg/json_shape.hpp"

#include "core/job/bounds.hpp"

namespace hipq::pg {

namespace {

// The stored format of numeric, which numeric.c does not export. It does not change, because dumps
// and replicas have it.
constexpr unsigned kind_mask = 0xC000;
constexpr unsigned short_kind = 0x8000;
constexpr unsigned short_scale_mask = 0x1F80;
constexpr unsigned short_scale_shift = 7;
constexpr unsigned short_weight_mask = 0x007F;
constexpr unsigned short_weight_end = 64;
constexpr unsigned long_scale_mask = 0x3FFF;
constexpr std::size_t digits_per_place = 4;

// A number of a few bytes may have 131,072 digits before the point and 16,383 after it.
std::size_t text_bytes_of_number(const char *number)
{
    std::array<std::uint16_t, 2> header{};
    const char *data = VARDATA_ANY(number);
    std::memcpy(header.data(), data,
                std::min<std::size_t>(sizeof(header), VARSIZE_ANY_EXHDR(number)));
    const bool is_short = (header[0] & kind_mask) == short_kind;
    const std::size_t scale = is_short ? (header[0] & short_scale_mask) >> short_scale_shift
                                       : header[0] & long_scale_mask;
    const int weight = is_short
                           ? static_cast<int>((header[0] & short_weight_mask) %
                                              short_weight_end)  // overestimates negative weights
                           : static_cast<std::int16_t>(header[1]);
    const std::size_t places = weight < 0 ? 1 : static_cast<std::size_t>(weight) + 1;
    return places * digits_per_place + scale + 2;
}

std::size_t text_bytes_of_string(std::string_view text, bool counts_escapes)
{
    constexpr std::size_t more_for_escape = 5;  // a character as \u001f
    if (!counts_escapes)
        return text.size() + 2;
    const auto is_escaped = [](char c) {
        return static_cast<unsigned char>(c) < ' ' || c == '"' || c == '\\';
    };
    return text.size() + 2 +
           more_for_escape *
               static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_escaped));
}

// An array or object that the walk has entered.
struct OpenContainer {
    const JEntry *entries;
    std::uint32_t count;
    std::uint32_t next;
    const char *data;
    std::uint32_t offset;  // of the next entry's data
};

OpenContainer open(const JsonbContainer *container)
{
    const std::uint32_t count =
        JsonContainerSize(container) * (JsonContainerIsObject(container) ? 2 : 1);
    return {container->children, count, 0,
            reinterpret_cast<const char *>(container->children + count), 0};
}

class Walk {
public:
    Walk(std::size_t most_depth, std::size_t most_text, bool counts_escapes)
        : most_depth_(most_depth), most_text_(most_text), counts_escapes_(counts_escapes)
    {
    }

    JsonShape over(const JsonbContainer *root)
    {
        is_scalar_ = JsonContainerIsScalar(root);
        enter(root);
        while (!open_.empty() && shape_.depth <= most_depth_ && shape_.text_bytes <= most_text_) {
            if (open_.back().next == open_.back().count)
                open_.pop_back();
            else
                step(open_.back());
        }
        return shape_;
    }

private:
    void enter(const JsonbContainer *container)
    {
        open_.push_back(open(container));
        shape_.text_bytes += 2;
        shape_.depth = std::max(shape_.depth, open_.size() - (is_scalar_ ? 1 : 0));
    }

    void step(OpenContainer &container)
    {
        constexpr std::size_t longest_word = 5;  // false
        constexpr std::size_t separator = 2;
        const JEntry entry = container.entries[container.next++];
        const std::uint32_t begin = container.offset;
        JBE_ADVANCE_OFFSET(container.offset, entry);
        const char *data = container.data;
        shape_.text_bytes += separator;
        if (JBE_ISSTRING(entry))
            shape_.text_bytes +=
                text_bytes_of_string({data + begin, container.offset - begin}, counts_escapes_);
        else if (JBE_ISNUMERIC(entry))
            shape_.text_bytes += text_bytes_of_number(data + INTALIGN(begin));
        else if (JBE_ISCONTAINER(entry))
            enter(reinterpret_cast<const JsonbContainer *>(
                data + INTALIGN(begin)));  // `container` may have moved
        else
            shape_.text_bytes += longest_word;
    }

    std::size_t most_depth_;
    std::size_t most_text_;
    bool counts_escapes_;
    bool is_scalar_ = false;
    JsonShape shape_{0, 0};
    std::vector<OpenContainer> open_;
};

}  // namespace

JsonShape json_shape(Datum json, std::size_t most_depth, std::size_t most_text)
{
    constexpr std::size_t longest_escape = 6;
    const Jsonb *value = pg::call([&] { return DatumGetJsonbP(json); });
    return Walk(most_depth, most_text, VARSIZE(value) > most_text / longest_escape)
        .over(&value->root);
}

}  // namespace hipq::pg
