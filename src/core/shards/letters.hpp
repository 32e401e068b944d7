// Letters between the nodes of an instance: who may send which to whom, and what has to stand in
// them. The one table of their kinds.
//
// A letter is input. Each is checked whole before anything of it takes effect: who brought it, what
// it says of itself, what it holds. What the table does not name is left out of account, since a
// newer release may send it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hipq::core {

// A JSON value as far as it matters here. Texts point to where it was read from.
struct Json {
    enum class Kind : unsigned char { null, boolean, number, text, list, object };
    Kind kind = Kind::null;
    std::optional<std::int64_t> integer{};  // of a number that is one
    std::string_view text{};
    std::vector<Json> elements{};
    std::vector<std::pair<std::string_view, Json>> fields{};

    // Null: there is no such field.
    const Json *find(std::string_view name) const;
};
// Deeper values need not be read: nothing looks at what they hold.
inline constexpr int most_levels_of_letter = 5;

enum class FieldType : unsigned char {
    integer,       // least to most
    number,        // any
    boolean,       //
    text,          // least to most bytes
    time,          // a text that starts with a digit: no "infinity"
    list,          // least to most elements, which have rules of their own
    names,         // a list of texts
    busy_keys,     // a list of [queue, job type, key] and {"queue": ..., "awaits": ...}
    any,           //
    own_instance,  // the instance's name
    own_queue,     // "instance.queue"
    sender,        // the node that sends the letter
    receiver,      // the node that it is for
    nothing,       // may not be there
};

struct LetterField {
    std::string_view list;  // whose elements have it; empty: the body has it
    std::string_view name;  // empty: the elements are it
    FieldType type;
    bool is_needed;  // else it may be missing, or null
    std::int64_t least = 0;
    std::int64_t most = 0;
};

enum class Senders : unsigned char {
    nobody,  // a node writes it for itself
    router,
    shards,
    all,
};

struct LetterKind {
    std::string_view name;
    Senders senders;
    bool has_jobs;  // they are checked one by one (may_send_job), and so is what they share
    bool has_body;
    bool needs_body;  // else it may be missing
    std::span<const LetterField> fields;
};

// Nothing: this release does not know it.
const LetterKind *find_letter_kind(std::string_view name);
std::span<const LetterKind> letter_kinds();

// What connects two nodes, seen from the one that reads.
struct LetterLine {
    std::string_view instance;
    int sender;
    int receiver;
};

// The columns of a letter.
struct LetterHead {
    std::string_view instance;
    int sender;
    int node;
    std::string_view kind;
    bool has_jobs;
};

// Why a letter is not to take effect, as a part of a sentence; nothing: its head is good. The kind
// may still be one that this release does not know: then it is the name of one, at least.
std::optional<std::string> problem_of_head(const LetterHead &head, const LetterLine &line);
// The same of its body; null: it has none.
std::optional<std::string> problem_of_body(const LetterKind &kind, const Json *body,
                                           const LetterLine &line);

// Whether a node may send a job with this id: there can be such an id, and no shard speaks for what
// never leaves the router but for jobs that it has made itself.
bool may_send_job(int sender, std::int64_t id);

}  // namespace hipq::core
