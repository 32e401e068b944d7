// Random names and signatures: values that a browser gets and cannot forge.
#pragma once

#include <string>
#include <string_view>

namespace hipq::web {

// 256 random bits as hexadecimal digits.
std::string random_token();

// Whether both are equal, in a time that does not depend on the first difference.
bool same_secret(std::string_view one, std::string_view other);

// Signs ids by HMAC, with a key that lives as long as the program, as the sessions do.
class Signer {
public:
    Signer() : key_(random_token()) {}

    // ID.SIGNATURE
    std::string sign(const std::string &id) const;
    // The id with a valid signature; empty: it is invalid.
    std::string verify(std::string_view text) const;

private:
    std::string key_;
};

}  // namespace hipq::web
