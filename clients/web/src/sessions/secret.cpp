// Random names and signatures: values that a browser gets and cannot forge.
#include "sessions/secret.hpp"

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>
#include <stdexcept>

namespace hipq::web {

namespace {

using Digest = std::array<unsigned char, 32>;

std::string hexadecimal(const Digest &bytes)
{
    static constexpr const char *digits = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : bytes) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

}  // namespace

std::string random_token()
{
    Digest bytes{};
    if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
        throw std::runtime_error("the system has no random numbers");
    return hexadecimal(bytes);
}

bool same_secret(std::string_view one, std::string_view other)
{
    return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

std::string Signer::sign(const std::string &id) const
{
    Digest digest{};
    unsigned int size = 0;
    if (HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
             reinterpret_cast<const unsigned char *>(id.data()), id.size(), digest.data(),
             &size) == nullptr)
        throw std::runtime_error("a cookie could not be signed");
    return id + "." + hexadecimal(digest);
}

std::string Signer::verify(std::string_view text) const
{
    const std::size_t dot = text.find('.');
    if (dot == std::string_view::npos)
        return "";
    std::string id(text.substr(0, dot));
    return same_secret(sign(id), text) ? id : "";
}

}  // namespace hipq::web
