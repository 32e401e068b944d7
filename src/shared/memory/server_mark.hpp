// The server's mark: a file in the data directory that tells this server from one that was started
// from a copy of its files.
//
// A copy has the same system identifier, the same databases, the same rows. But a file that is
// copied gets a new inode and a new time of birth: the mark holds its own, so a copied mark does
// not fit its file. Whoever starts from such a directory gets a mark with a new token, and jobs
// whose identity names another token are held. A standby is a copy too, but one that is meant to go
// on: started as standby, the server gets a mark that goes on with any token, and keeps it after
// its promotion.
#pragma once

#include "pg/postgres.hpp"

namespace hipq::memory {

inline constexpr std::size_t token_length = 16;

struct ServerMark {
    bool is_known;  // false: the file could not be read or written
    bool goes_on;  // the server was a standby: it goes on with the jobs of the server whose standby
                   // it was
    unsigned char token[token_length];
};

// Reads the mark, or makes a new one. In the postmaster, in the data directory, before anything
// else runs. Failures are logged. PostgreSQL regime.
ServerMark read_or_make_mark();

}  // namespace hipq::memory
