// The findings of hipq.doctor(), and the types of its checks.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hipq::monitor {

// error: something does not work. warning: it will not work, or not as intended. information: worth
// knowing.
enum class Severity : unsigned char { error, warning, information };
std::string_view name(Severity severity);

struct Diagnosis {
    Severity severity;
    std::string subject;  // 'queue "app.mail"'
    std::string finding;  // its short name, the same for all subjects
    std::string detail;
    std::string hint;
    std::optional<std::string> statement{};  // ready to run; nothing: an operator has to choose
    std::optional<int> queue_id{};           // nothing: it is about the database or the server
};
using Diagnoses = std::vector<Diagnosis>;

// The roles that see findings without a queue. Roles that may see a queue see its findings.
enum class Audience : unsigned char { everybody, monitors };

// Returns rows of queue_id, severity, subject, finding, detail, hint, statement.
struct SqlCheck {
    std::string_view name;
    const char *sql;
};

// Runs as the extension owner, with the settings of the session.
struct Look {
    std::string_view name;
    Audience audience;
    void (*look)(Diagnoses &found);
};

// The connections of this server with other nodes of an instance: the reader of one of hipq's slots
// here, and the writer of a subscription's data.
#define HIPQ_LINES                                                                                 \
    "SELECT true AS is_router, shard.channel || '_to_' || shard.node AS slot, "                    \
    "       shard.channel || '_from_' || shard.node AS subscription, shard.conninfo, "             \
    "       format('shard %s of instance \"%s\"', shard.node, instance.name) AS reader, "          \
    "       format('CALL hipq.resync_shard(%L, %s)', instance.name, shard.node) AS resync "        \
    "FROM hipq.shard "                                                                             \
    "JOIN hipq.shard_map AS map USING (instance_id) "                                              \
    "JOIN hipq.instance USING (instance_id) "                                                      \
    "WHERE map.own_node = 0 AND shard.state IN ('active', 'draining') "                            \
    "UNION ALL "                                                                                   \
    "SELECT false, 'hipq_' || left(map.cluster::text, 8) || '_from_' || map.own_node, "            \
    "       'hipq_' || left(map.cluster::text, 8) || '_to_' || map.own_node, NULL, "               \
    "       format('the router of instance \"%s\"', instance.name), "                              \
    "       format('CALL hipq.resync_shard(%L, %s)', instance.name, map.own_node) "                \
    "FROM hipq.shard_map AS map "                                                                  \
    "JOIN hipq.instance USING (instance_id) "                                                      \
    "WHERE map.own_node > 0"

std::span<const Look> server_looks();
std::span<const Look> shard_looks();
std::span<const Look> handler_looks();
std::span<const Look> schedule_looks();
std::span<const Look> dependency_looks();

std::span<const SqlCheck> setting_checks();
std::span<const SqlCheck> queue_checks();
std::span<const SqlCheck> job_type_checks();
std::span<const SqlCheck> table_checks();
std::span<const SqlCheck> schedule_checks();
std::span<const SqlCheck> snapshot_checks();
std::span<const SqlCheck> shard_checks();

}  // namespace hipq::monitor
