// The answer for a job after its program has ended, from the exit code and the output.
#pragma once

#include "hipq/client/error_texts.hpp"

#include <optional>
#include <string>

namespace hipq::run {

using client::clean_text;

// How a program has ended.
struct ExitStatus {
    int code = 0;
    int signal = 0;  // 0: it exited by itself
};

// The answer to the server about an attempt.
struct Ending {
    enum class Kind { complete, fail, release, nothing } kind;
    std::string text = {};  // the result, the error, or the delay
    bool retriable = true;
    std::optional<std::string> retry_after = {};  // how long a retry waits
    std::optional<ExitStatus> status = {};        // of a program that ran only this job
};

struct Output {
    std::string out;  // all of stdout
    bool is_too_long = false;
    std::string error_tail;  // the end of stderr
};

inline constexpr int exit_retriable = 75;  // EX_TEMPFAIL of sysexits.h
inline constexpr int exit_permanent = 78;  // EX_CONFIG

Ending ending_of(ExitStatus status, const Output &output, bool failure_is_final);

// Without the byte order mark of UTF-8, which some languages write.
std::string without_mark(const std::string &text);

// JSON as it is, any other text as a JSON string; no output is null.
std::string result_of(const std::string &out);

// "exit code 1: " and the end of its output.
std::string error_of(ExitStatus status, const std::string &error_tail);

}  // namespace hipq::run
