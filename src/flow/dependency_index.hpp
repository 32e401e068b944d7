// Reads hipq.dependency by its indexes without SQL.
#pragma once

#include "core/flow/waits.hpp"
#include "pg/spi.hpp"

namespace hipq::flow {

// Needs a transaction. close() closes what it has opened, or the abort does. Until then its
// snapshot, the latest at open(), is the active one.
class DependencyIndex {
public:
    // Nothing: the table or an index is not as hipq creates it; the caller must use SQL.
    static std::optional<DependencyIndex> open();

    // Reads by the latest snapshot from now on.
    void see_latest();

    // Jobs that come directly after a job, at most `most`, in the order of queue and id.
    struct Later {
        int queue_id;
        std::int64_t job_id;
        bool is_any;  // it starts when one of the jobs before it has succeeded
    };
    std::vector<Later> jobs_after(std::int64_t before_id, std::size_t most);

    // Jobs that a job comes directly after, at most `most`, with ids between two others, from the
    // highest or from the lowest one on.
    struct Before {
        std::int64_t id;
        int queue_id;
        bool is_kept;        // the row says how it has ended, because its own is gone
        bool has_succeeded;  // if so
    };
    struct Between {
        std::int64_t above = std::numeric_limits<std::int64_t>::min();
        std::int64_t below = std::numeric_limits<std::int64_t>::max();
    };
    enum class From : bool { highest, lowest };
    std::vector<Before> jobs_before(int queue_id, std::int64_t job_id, Between ids, From from,
                                    std::size_t most);

    // What a job with jobs before it waits for; nothing: there are none.
    struct Rule {
        core::AfterPolicy policy;
        core::OnFailure on_failure;
    };
    std::optional<Rule> rule_of(int queue_id, std::int64_t job_id);

    void close();

private:
    struct Table;
    explicit DependencyIndex(Table *table) : table_(table) {}
    Table *table_;  // in the memory context that was current at open()
};

}  // namespace hipq::flow
