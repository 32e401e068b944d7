// Random names and signatures: what a browser is given and cannot make up.
#pragma once

#include <string>
#include <string_view>

namespace hipq::web {

// 256 random bits in hexadecimal digits.
std::string random_token();

// Whether both are the same, in a time that does not tell where they differ.
bool same_secret(std::string_view one, std::string_view other);

// Signs ids by HMAC, with a key that lives as long as the program: so do the sessions.
class Signer {
public:
    Signer() : key_(random_token()) {}

    // ID.SIGNATURE
    std::string sign(const std::string &id) const;
    // The id that was signed so; empty: it was not.
    std::string verify(std::string_view text) const;

private:
    std::string key_;
};

}  // namespace hipq::web
