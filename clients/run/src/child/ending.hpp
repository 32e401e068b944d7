// What becomes of a job when its program has ended: the exit code and the output as an answer.
#pragma once

#include "hipq/client/error_texts.hpp"

#include <optional>
#include <string>

namespace hipq::run {

using client::clean_text;

// How a program has ended.
struct ExitStatus {
    int code = 0;
    int signal = 0;  // 0: it has exited by itself
};

// What the server is to be told of an attempt.
struct Ending {
    enum class Kind { complete, fail, release, nothing } kind;
    std::string text = {};  // the result, the error, or the delay
    bool retriable = true;
    std::optional<std::string> retry_after = {};  // how long a retry waits
    std::optional<ExitStatus> status = {};        // of the program that has run the job alone
};

struct Output {
    std::string out;  // all of stdout
    bool is_too_long = false;
    std::string error_tail;  // the last of stderr
};

inline constexpr int exit_retriable = 75;  // EX_TEMPFAIL of sysexits.h
inline constexpr int exit_permanent = 78;  // EX_CONFIG

Ending ending_of(ExitStatus status, const Output &output, bool failure_is_final);

// Without the mark that says that UTF-8 follows, which some languages write.
std::string without_mark(const std::string &text);

// JSON as it stands, anything else as a JSON string; nothing is null.
std::string result_of(const std::string &out);

// "exit code 1: " and the last of what it said.
std::string error_of(ExitStatus status, const std::string &error_tail);

}  // namespace hipq::run
