// The head of a request, which is checked before cpp-httplib sees any of it.
#pragma once

#include <string>
#include <string_view>

namespace hipq::web {

// What a client may send: cpp-httplib itself would take heads, chunks and compressed bodies of any
// size.
constexpr std::size_t longest_head = 16'000;
constexpr std::size_t longest_body = 100'000;

struct Head {
    std::string text;           // as cpp-httplib gets it, with the empty line
    std::size_t body_size = 0;  // how much follows
};

// Reads a head that ends with its empty line. What a server is free not to heed is left out: parts
// of a page, and asking before sending. Throws Problem if something is wrong with it.
Head read_head(std::string_view text);

}  // namespace hipq::web
