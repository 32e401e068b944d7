// The SQLSTATEs by which handlers report how they failed.
#pragma once

namespace hipq::pg {

inline constexpr const char *permanent_failure_sqlstate = "HQ001";
inline constexpr const char *retriable_failure_sqlstate = "HQ002";

}  // namespace hipq::pg
