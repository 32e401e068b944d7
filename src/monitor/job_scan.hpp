// A node in plans that reads the jobs of all queues that the caller may read, queue by queue, where
// a statement over view hipq.jobs_detail concerns many queues.
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

// What a comparison of a column with a value, which is the same for all rows, is good for.
enum class Use : std::uint8_t { equality, lower_bound, upper_bound };

// The value is an expression of the plan.
struct Comparison {
    Use use;
    AttrNumber column;  // of hipq.job
    Oid comparison;
    Oid collation;
    bool is_array;
};

// The plan of a scan. The node carries it as numbers, because PostgreSQL copies plans. The executor
// checks all conditions of the statement on each row; these only spare reading.
struct JobScanPlan {
    bool reads_live;
    bool reads_final;
    Oid table;          // hipq.job
    List *comparisons;  // pointers

    List *as_numbers() const;
    static JobScanPlan from_numbers(const List *numbers);
};

// Creates the state of the node for the executor.
Node *make_job_scan_state(CustomScan *plan);

}  // namespace hipq::monitor
