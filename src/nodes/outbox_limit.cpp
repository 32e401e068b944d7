// Checks how far a node is behind in reading the outbox.
#include "nodes/outbox_limit.hpp"

#include "catalog/cache.hpp"
#include "core/text/names.hpp"
#include "pg/guard.hpp"
#include "settings.hpp"

#include <array>
#include <optional>

#include <sys/stat.h>

extern "C" {
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "replication/slot.h"
#include "utils/timestamp.h"
}

namespace hipq::nodes {

namespace {

constexpr std::uint64_t megabyte = 1'048'576;

// ---- call inside pg::call() only ----

// The position that the slot's reader has confirmed; nothing: there is no such slot.
std::optional<XLogRecPtr> confirmed_position(const char *name)
{
    ReplicationSlot *slot = ::SearchNamedReplicationSlot(name, true);
    if (slot == nullptr)
        return std::nullopt;
    SpinLockAcquire(&slot->mutex);
    const XLogRecPtr position = slot->data.confirmed_flush;
    SpinLockRelease(&slot->mutex);
    return position == InvalidXLogRecPtr ? std::nullopt : std::optional(position);
}

// The approximate time when a position was written: the last modification of its file, if the file
// exists.
const char *time_of(XLogRecPtr position)
{
    std::array<char, MAXPGPATH> path{};
    XLogSegNo segment = 0;
    XLByteToSeg(position, segment, ::wal_segment_size);
    XLogFilePath(path.data(), ::GetWALInsertionTimeLine(), segment, ::wal_segment_size);
    struct stat file {};
    return ::stat(path.data(), &file) == 0
               ? ::pstrdup(::timestamptz_to_str(::time_t_to_timestamptz(file.st_mtime)))
               : nullptr;
}

}  // namespace

std::string slot_for(const catalog::Shards &shards, int node)
{
    return shards.own_node == core::router_node
               ? core::line_to_shard(shards.channel, node)
               : core::line_from_shard(shards.channel, shards.own_node);
}

void demand_room(const catalog::Queue &queue, int node)
{
    const std::uint64_t limit = static_cast<std::uint64_t>(settings::outbox_max) * megabyte;
    const std::string slot = slot_for(*queue.shards, node);
    const std::string reader =
        queue.shards->own_node == 0 ? "shard " + std::to_string(node) : "the router";
    pg::call([&] {
        const auto confirmed = confirmed_position(slot.c_str());
        const XLogRecPtr present = ::GetXLogWriteRecPtr();
        if (limit == 0 || !confirmed.has_value() || present <= *confirmed ||
            present - *confirmed <= limit)
            return;
        const char *since = time_of(*confirmed);
        ereport(ERROR, errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
                errmsg("too much waits for %s of instance \"%s\"", reader.c_str(),
                       queue.instance.c_str()),
                errdetail("This server keeps %llu MB of WAL for it, from %s on; hipq.outbox_max "
                          "is %d MB.",
                          static_cast<unsigned long long>((present - *confirmed) / megabyte),
                          since == nullptr ? "an unknown time" : since, settings::outbox_max),
                errhint("See what keeps it from reading: SELECT * FROM hipq.shards on the "
                        "router."));
    });
}

}  // namespace hipq::nodes
