// What a job that comes after others waits for, and what the ends of those decide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hipq::core {

// What a held job waits for, as column waits_for has it.
enum class WaitsFor : unsigned char {
    jobs,  // jobs that it comes after
    key,   // the job with its key, which runs
};
std::string_view name(WaitsFor waits_for);
std::optional<WaitsFor> parse_waits_for(std::string_view text);

// When a job may start that comes after others (after_policy).
enum class AfterPolicy : unsigned char {
    succeeded,  // when all of them have succeeded
    finished,   // when all of them have ended, successfully or not
    any,        // when one of them has succeeded
    failed,     // when one of them has failed
};
std::string_view name(AfterPolicy policy);
std::optional<AfterPolicy> parse_after_policy(std::string_view text);

// What happens to a job whose policy can no longer be met (on_failure).
enum class OnFailure : unsigned char {
    fail,  // it fails, too
    skip,  // it ends without having run, which is no failure
    run,   // it runs when all jobs before it have ended
};
std::string_view name(OnFailure on_failure);
std::optional<OnFailure> parse_on_failure(std::string_view text);

// A sentence that says when a job starts that comes after others, and what becomes of it otherwise.
std::string_view rule_text(AfterPolicy policy, OnFailure on_failure);

// How many of the jobs before a job have not ended yet, and how the others ended. A job that was
// cancelled, has expired, or is gone without a trace counts as failed.
struct Before {
    std::int64_t unfinished = 0;
    std::int64_t succeeded = 0;
    std::int64_t skipped = 0;
    std::int64_t failed = 0;
};

// A job with so few jobs before it has all of them watched.
inline constexpr std::size_t few_jobs_before = 16;

enum class AfterVerdict : unsigned char { wait, run, fail, skip };

// Decides as soon as the policy is met, or can no longer be met. A job that would fail only because
// others were skipped is skipped itself.
AfterVerdict judge(AfterPolicy policy, OnFailure on_failure, const Before &before);

}  // namespace hipq::core
