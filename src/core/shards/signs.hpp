// Signs of life that nodes send each other, by which a node finds out that it has forgotten the
// last it did: its disk was put back to an earlier state. Neither its timeline nor its files tell
// so, and replication goes on behind the gap in silence.
//
// Each sign names the one before it to the same node, and the newest one that its sender has had
// from that node. Signs arrive in the order in which they are sent, among all other letters. So who
// gets a sign and lacks the one before it lacks what came with it; and who is told of a sign of its
// own that it does not know has forgotten what it did until then.
#pragma once

#include <cstdint>
#include <optional>

namespace hipq::core {

// The name of a sign. Numbers alone would not do: who has forgotten gives them again.
struct Sign {
    std::int64_t id;
    std::int64_t time;  // us
    bool operator==(const Sign &) const = default;
};

// What a sign says, beside its name.
struct SignLetter {
    std::optional<Sign> before;  // of the sender; nothing: it has sent none since it was in step
    std::optional<Sign> heard;   // of the receiver
};

// What the receiver knows.
struct SignsKnown {
    // Number of the newest one of the sender; 0: none. Who was updated later than others hears of
    // them for the first time then.
    std::int64_t heard;
    std::int64_t from;     // of its own, those with this number and above are known
    bool remembers_heard;  // `heard` of the letter is among them
};

enum class Forgotten : unsigned char { nothing, what_it_got, what_it_sent };

// What the receiver has forgotten. Old signs, which come once more, tell nothing.
Forgotten forgotten(const SignsKnown &known, const SignLetter &letter);

// Where it goes on, when it is in step again: nobody knows a sign of its own from then on.
constexpr std::int64_t signs_from(std::int64_t last_number)
{
    return last_number + 1;
}

}  // namespace hipq::core
