// The head of a request, checked before cpp-httplib reads it.
#pragma once

#include <string>
#include <string_view>

namespace hipq::web {

// Limits for clients: cpp-httplib itself would accept heads, chunks and compressed bodies of any
// size.
constexpr std::size_t longest_head = 16'000;
constexpr std::size_t longest_body = 100'000;

struct Head {
    std::string text;           // for cpp-httplib, with the empty line
    std::size_t body_size = 0;  // size of the rest
};

// Reads a head that ends with its empty line. Leaves out headers that a server may ignore: range
// requests, Expect, and encodings other than gzip. Throws Problem if the head is invalid.
Head read_head(std::string_view text);

}  // namespace hipq::web
