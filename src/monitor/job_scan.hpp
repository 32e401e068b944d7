// A node in plans that reads the jobs of all queues that the caller may see, queue by queue: where
// a statement over view hipq.jobs_detail concerns many queues, and behind hipq.running_detail and
// hipq.queues_detail.
//
// With a scan of hipq.job the planner would open and estimate the tables of all queues. This node
// opens a leaf when it is its turn, or not at all if an index says that the leaf has no such row.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "nodes/extensible.h"
#include "nodes/plannodes.h"
}

namespace hipq::monitor {

// Which jobs a scan reads.
enum class JobSource : std::uint8_t {
    readable,    // all jobs of queues that the caller may read
    unfinished,  // of queues that the caller may look at, without the keys of those it may not read
};

// What a comparison of a column with a value, which is the same for all rows, is good for.
enum class Use : std::uint8_t { equality, lower_bound, upper_bound };

// The value is an expression of the plan.
struct Comparison {
    const char *column;
    Use use;
    Oid comparison;
    Oid collation;
    bool is_array;
};

// The plan of a scan. The node carries it as lists of numbers and names, because PostgreSQL copies
// plans. The executor checks all conditions of the statement on each row; these only spare reading.
struct JobScanPlan {
    JobSource source;
    bool reads_live;
    bool reads_final;
    List *columns;      // names
    List *comparisons;  // pointers

    List *as_list() const;
    static JobScanPlan from_list(const List *list);
};

// Creates the state of the node for the executor.
Node *make_job_scan_state(CustomScan *plan);

}  // namespace hipq::monitor
