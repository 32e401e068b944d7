// Stores the options that queues have since 0.3.0, in a statement of its own, because tables and
// functions of 0.2.0 do not have them.
#include "admin/queues/later_options.hpp"

#include "core/job/validate.hpp"
#include "pg/internal_write.hpp"

namespace hipq::admin {

namespace {

struct LaterArgument {
    enum Place { worker_wait_ttl, max_retries, count };
};

constexpr std::array<const char *, LaterArgument::count> names{"worker_wait_ttl", "max_retries"};

constinit pg::Statement update_later_options(R"(
    UPDATE hipq.queue
    SET worker_wait_ttl = CASE WHEN 'worker_wait_ttl' = ANY ($4) THEN NULL ELSE coalesce($2, worker_wait_ttl) END,
        max_retries = CASE WHEN 'max_retries' = ANY ($4) THEN NULL ELSE coalesce($3, max_retries) END
    WHERE queue_id = $1)");

bool are_taken(const pg::Arguments &arguments, int first)
{
    return arguments.takes(first + LaterArgument::count - 1);
}

bool is_any_named(const std::vector<std::string> &to_reset)
{
    return std::ranges::any_of(names, [&](const char *name) {
        return std::find(to_reset.begin(), to_reset.end(), name) != to_reset.end();
    });
}

}  // namespace

std::vector<Resettable> with_later_options(std::span<const Resettable> others,
                                           const pg::Arguments &arguments, int first)
{
    std::vector<Resettable> all(others.begin(), others.end());
    if (are_taken(arguments, first))
        for (std::size_t i = 0; i < names.size(); ++i)
            all.push_back({names[i], first + static_cast<int>(i)});
    return all;
}

void set_later_options(int queue_id, const pg::Arguments &arguments, int first,
                       const std::vector<std::string> &to_reset)
{
    if (!are_taken(arguments, first))
        return;
    const auto wait = arguments.maybe_seconds(first + LaterArgument::worker_wait_ttl, 0);
    const auto retries = arguments.maybe_int(first + LaterArgument::max_retries);
    if (retries.has_value())
        pg::demand(core::check_max_retries(*retries));
    if (wait.has_value() || retries.has_value() || is_any_named(to_reset))
        pg::as_hipq([&] { update_later_options.run(queue_id, wait, retries, to_reset); });
}

}  // namespace hipq::admin
