// Writes the statistics to a file at shutdown and reads them at start.
//
// The file consists of a header, the entries, and a checksum of both.
#include "shared/statistics/file.hpp"

#include <unistd.h>

extern "C" {
#include "port/pg_crc32c.h"
#include "storage/fd.h"
}

namespace hipq::statistics {

namespace {

constexpr const char *file_name = PGSTAT_STAT_PERMANENT_DIRECTORY "/hipq.stat";
constexpr const char *new_file_name = PGSTAT_STAT_PERMANENT_DIRECTORY "/hipq.stat.new";
constexpr std::uint32_t magic = 0x71706973;
constexpr std::uint32_t current_version = 5;

struct FileHead {
    std::uint32_t magic;
    std::uint32_t version;
    std::uint32_t entry_size;
    std::uint32_t entries;
};

bool is_known(const FileHead &head)
{
    return head.magic == magic && head.version == current_version &&
           head.entry_size == sizeof(CountedEntry);
}

bool write_part(FILE *file, const void *part, std::size_t size, pg_crc32c &sum)
{
    COMP_CRC32C(sum, part, size);
    return ::fwrite(part, size, 1, file) == 1;
}

bool read_part(FILE *file, void *part, std::size_t size, pg_crc32c &sum)
{
    if (::fread(part, size, 1, file) != 1)
        return false;
    COMP_CRC32C(sum, part, size);
    return true;
}

bool write_all(FILE *file, std::span<const CountedEntry> entries)
{
    pg_crc32c sum = 0;
    INIT_CRC32C(sum);
    const FileHead head{magic, current_version, sizeof(CountedEntry),
                        static_cast<std::uint32_t>(entries.size())};
    if (!write_part(file, &head, sizeof(head), sum))
        return false;
    for (const CountedEntry &entry : entries)
        if (!write_part(file, &entry, sizeof(entry), sum))
            return false;
    FIN_CRC32C(sum);
    return ::fwrite(&sum, sizeof(sum), 1, file) == 1;
}

// Reads the whole file, entry by entry; `take` may be null. Returns whether the file is complete
// and valid.
bool read_all(FILE *file, void (*take)(const CountedEntry &))
{
    static CountedEntry entry;  // too large for the postmaster's stack
    pg_crc32c sum = 0;
    pg_crc32c stored = 0;
    INIT_CRC32C(sum);
    FileHead head{};
    if (!read_part(file, &head, sizeof(head), sum) || !is_known(head))
        return false;
    for (std::uint32_t i = 0; i < head.entries; ++i) {
        if (!read_part(file, &entry, sizeof(entry), sum))
            return false;
        if (take != nullptr)
            take(entry);
    }
    FIN_CRC32C(sum);
    return ::fread(&stored, sizeof(stored), 1, file) == 1 && EQ_CRC32C(sum, stored);
}

}  // namespace

void save_statistics(std::span<const CountedEntry> entries)
{
    FILE *file = ::AllocateFile(new_file_name, PG_BINARY_W);
    bool is_written = file != nullptr && write_all(file, entries);
    if (file != nullptr && ::FreeFile(file) != 0)
        is_written = false;
    if (is_written) {
        static_cast<void>(::durable_rename(new_file_name, file_name, LOG));
        return;
    }
    ereport(LOG, errcode_for_file_access(),
            errmsg("could not write file \"%s\": %m", new_file_name));
    ::unlink(new_file_name);
}

void load_statistics(void (*take)(const CountedEntry &))
{
    FILE *file = ::AllocateFile(file_name, PG_BINARY_R);
    if (file == nullptr) {
        if (errno != ENOENT)
            ereport(LOG, errcode_for_file_access(),
                    errmsg("could not read file \"%s\": %m", file_name));
        return;
    }
    if (read_all(file, nullptr)) {
        ::rewind(file);
        static_cast<void>(read_all(file, take));
    } else {
        ereport(LOG, errcode(ERRCODE_DATA_CORRUPTED),
                errmsg("ignoring statistics of jobs in file \"%s\"", file_name),
                errdetail("It is not whole, or of another version of hipq."));
    }
    static_cast<void>(::FreeFile(file));
    ::unlink(file_name);
}

}  // namespace hipq::statistics
