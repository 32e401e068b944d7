// Reads versions and compares them.
#include "core/limits/versions.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>

namespace hipq::core {

namespace {

using Version = std::array<int, 3>;

std::optional<Version> read_version(std::string_view text)
{
    Version version{};
    for (std::size_t i = 0; i < version.size(); ++i) {
        if (i > 0) {
            if (text.empty() || text.front() != '.')
                return std::nullopt;
            text.remove_prefix(1);
        }
        const auto [end, error] =
            std::from_chars(text.data(), text.data() + text.size(), version[i]);
        if (error != std::errc{} || version[i] < 0)
            return std::nullopt;
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    }
    return text.empty() ? std::optional(version) : std::nullopt;
}

}  // namespace

VersionFit fit_of_versions(std::string_view library, std::string_view extension)
{
    if (library == extension)
        return VersionFit::same;
    const std::optional<Version> one = read_version(library);
    const std::optional<Version> other = read_version(extension);
    const bool are_near = one.has_value() && other.has_value() && (*one)[0] == (*other)[0] &&
                          std::abs((*one)[1] - (*other)[1]) <= 1;
    return are_near ? VersionFit::together : VersionFit::apart;
}

bool is_earlier(std::string_view version, std::string_view other)
{
    const std::optional<Version> one = read_version(version);
    const std::optional<Version> two = read_version(other);
    return one.has_value() && two.has_value() && *one < *two;
}

}  // namespace hipq::core
