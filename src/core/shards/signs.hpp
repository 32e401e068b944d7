// Signs of life that nodes send each other. By them a node finds out that it has lost its latest
// changes because its disk was reset to an earlier state. Neither its timeline nor its files show
// that, and replication silently continues after the gap.
//
// Each sign names the previous one to the same node, and the newest one that its sender received
// from that node. Signs arrive in the order in which they are sent, among all other letters. So a
// node that receives a sign without having the previous one also lacks the letters that came with
// the previous one. And a node that receives a sign naming one of its own signs, which it does not
// know, has lost changes that it made before that sign.
#pragma once

#include <cstdint>
#include <optional>

namespace hipq::core {

// The name of a sign. The number alone is not enough: a node that lost changes uses numbers again.
struct Sign {
    std::int64_t id;
    std::int64_t time;  // us
    bool operator==(const Sign &) const = default;
};

// The contents of a sign, besides its name.
struct SignLetter {
    std::optional<Sign> before;  // of the sender; nothing: it has sent none since it was in step
    std::optional<Sign> heard;   // of the receiver
};

// What the receiver knows.
struct SignsKnown {
    // Number of the sender's newest sign; 0: none. A node that was updated later than others then
    // learns of signs for the first time.
    std::int64_t heard;
    std::int64_t from;     // of its own signs, it knows those with this number and above
    bool remembers_heard;  // it knows the sign that the letter names in `heard`
};

enum class Forgotten : unsigned char { nothing, what_it_got, what_it_sent };

// Returns what the receiver has lost. Old signs that arrive once more tell nothing.
Forgotten forgotten(const SignsKnown &known, const SignLetter &letter);

// Returns where the numbering starts after the node is back in step: no node knows a sign of its
// own from there on.
constexpr std::int64_t signs_from(std::int64_t last_number)
{
    return last_number + 1;
}

}  // namespace hipq::core
