// Letters are the messages between the nodes of an instance. This is the only table of their kinds:
// which nodes may send them, and what they must contain.
//
// A letter is untrusted input. It is checked as a whole before any of it takes effect: which node
// sent it, its header, its contents. Anything that the table does not name is ignored, because a
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

// A JSON value, as far as it is needed here. Texts point into the source.
struct Json {
    enum class Kind : unsigned char { null, boolean, number, text, list, object };
    Kind kind = Kind::null;
    std::optional<std::int64_t> integer{};  // of an integral number
    std::string_view text{};
    std::vector<Json> elements{};
    std::vector<std::pair<std::string_view, Json>> fields{};

    // Null: there is no such field.
    const Json *find(std::string_view name) const;
};
// Deeper values need not be read, because they are never examined.
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
    receiver,      // the node that receives it
    nothing,       // must be absent
};

struct LetterField {
    std::string_view list;  // the list whose elements have the field; empty: the body has it
    std::string_view name;  // empty: the field is the element itself
    FieldType type;
    bool is_needed;  // else it may be absent or null
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
    bool has_jobs;  // each job, and what the jobs have in common, is checked separately
                    // (may_send_job)
    bool has_body;
    bool needs_body;  // else it may be absent
    std::span<const LetterField> fields;
};

// Nothing: this release does not know the kind.
const LetterKind *find_letter_kind(std::string_view name);
std::span<const LetterKind> letter_kinds();

// The connection between two nodes, seen from the reader.
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

// Returns why a letter must not take effect, as a part of a sentence; nothing: its header is valid.
// The kind may still be unknown to this release, but is at least a valid name.
std::optional<std::string> problem_of_head(const LetterHead &head, const LetterLine &line);
// The same for its body; null: it has none.
std::optional<std::string> problem_of_body(const LetterKind &kind, const Json *body,
                                           const LetterLine &line);

// Returns whether a node may send a job with this id: the id is valid, and, if its slot never
// leaves the router, a shard sends only jobs that it created itself.
bool may_send_job(int sender, std::int64_t id);

}  // namespace hipq::core
