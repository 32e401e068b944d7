// The server's mark: a file in the data directory that distinguishes this server from a server
// started from a copy of its files.
//
// A copy has the same system identifier, databases and rows. But copying a file gives it a new
// inode and birth time. The mark records its own inode and birth time, so a copied mark does not
// match its file. A server started from a copied data directory gets a mark with a new token, and
// hipq holds jobs whose identity names another token. A standby is also a copy, but one that is
// meant to continue the original: a server started as a standby gets a mark that goes on with any
// token, and keeps that mark after its promotion.
#pragma once

#include "pg/postgres.hpp"

namespace hipq::memory {

inline constexpr std::size_t token_length = 16;

struct ServerMark {
    bool is_known;  // false: the file could not be read or written
    bool goes_on;   // the server was a standby: it continues with the jobs of its primary
    unsigned char token[token_length];
};

// Reads the mark, or makes a new one. The postmaster calls it in the data directory, before
// anything else runs. Failures are logged. Call in a C frame or inside pg::call() only.
ServerMark read_or_make_mark();

}  // namespace hipq::memory
