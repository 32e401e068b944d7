// Reads, checks and writes the file that holds the server's mark.
#include "shared/memory/server_mark.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

extern "C" {
#include "common/file_perm.h"
#include "port/pg_crc32c.h"
#include "storage/fd.h"
}

namespace hipq::memory {

namespace {

constexpr const char *file_name = "hipq.server";
constexpr const char *new_file_name = "hipq.server.new";
constexpr const char *standby_signal = "standby.signal";
constexpr std::uint32_t magic = 0x71706968;  // "hipq"
constexpr std::uint32_t current_version = 1;

// The properties that differ between a file and its copy.
struct Birth {
    std::uint64_t inode;
    std::int64_t seconds;  // 0, with nanoseconds 0: the file system does not record it
    std::uint32_t nanoseconds;
};

struct MarkFile {
    std::uint32_t magic;
    std::uint32_t version;
    std::uint64_t inode;
    std::int64_t born_seconds;
    std::uint32_t born_nanoseconds;
    std::uint32_t goes_on;
    unsigned char token[token_length];
    std::uint32_t checksum;  // of all fields before it
    std::uint32_t padding;
};
static_assert(std::is_trivially_copyable_v<MarkFile> && sizeof(MarkFile) == 56);

std::uint32_t checksum_of(const MarkFile &mark)
{
    pg_crc32c checksum = 0;
    INIT_CRC32C(checksum);
    COMP_CRC32C(checksum, &mark, offsetof(MarkFile, checksum));
    FIN_CRC32C(checksum);
    return checksum;
}

bool birth_of(int descriptor, Birth *birth)
{
    struct statx status {};
    if (::statx(descriptor, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status) == 0) {
        *birth = Birth{status.stx_ino, 0, 0};
        if ((status.stx_mask & STATX_BTIME) != 0) {
            birth->seconds = status.stx_btime.tv_sec;
            birth->nanoseconds = status.stx_btime.tv_nsec;
        }
        return true;
    }
    struct stat plain {};
    if (::fstat(descriptor, &plain) != 0)
        return false;
    *birth = Birth{plain.st_ino, 0, 0};
    return true;
}

bool knows_time(const Birth &birth)
{
    return birth.seconds != 0 || birth.nanoseconds != 0;
}

// Compare the birth times if both are known: some network file systems give a file a different
// inode at each mount.
bool is_same_file(const Birth &left, const Birth &right)
{
    if (knows_time(left) && knows_time(right))
        return left.seconds == right.seconds && left.nanoseconds == right.nanoseconds;
    return left.inode == right.inode;
}

bool is_valid(const MarkFile &mark)
{
    return mark.magic == magic && mark.version == current_version &&
           mark.checksum == checksum_of(mark);
}

// Returns true if the file exists, is valid, and its mark matches the file's own inode or birth
// time.
bool read_fitting_mark(MarkFile *mark)
{
    const int descriptor = ::open(file_name, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        if (errno != ENOENT)
            ereport(LOG, errcode_for_file_access(),
                    errmsg("could not open file \"%s\": %m", file_name));
        return false;
    }
    Birth birth{};
    const bool is_read =
        ::read(descriptor, mark, sizeof(*mark)) == static_cast<ssize_t>(sizeof(*mark)) &&
        birth_of(descriptor, &birth);
    ::close(descriptor);
    return is_read && is_valid(*mark) &&
           is_same_file({mark->inode, mark->born_seconds, mark->born_nanoseconds}, birth);
}

bool fill_new_file(int descriptor, MarkFile *mark)
{
    Birth birth{};
    if (!birth_of(descriptor, &birth))
        return false;
    mark->magic = magic;
    mark->version = current_version;
    mark->inode = birth.inode;
    mark->born_seconds = birth.seconds;
    mark->born_nanoseconds = birth.nanoseconds;
    mark->checksum = checksum_of(*mark);
    return ::write(descriptor, mark, sizeof(*mark)) == static_cast<ssize_t>(sizeof(*mark)) &&
           ::pg_fsync(descriptor) == 0;
}

// Replaces the file atomically. The new file has its own inode and birth time, and keeps them when
// it is renamed.
bool write_mark(MarkFile *mark)
{
    ::unlink(new_file_name);
    const int descriptor =
        ::open(new_file_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, pg_file_create_mode);
    bool is_written = descriptor >= 0 && fill_new_file(descriptor, mark);
    if (descriptor >= 0 && ::close(descriptor) != 0)
        is_written = false;
    if (!is_written) {
        ereport(LOG, errcode_for_file_access(),
                errmsg("could not write file \"%s\": %m", new_file_name),
                errhint("Until it can be written hipq holds jobs that belong to a server with such "
                        "a file."));
        return false;
    }
    return ::durable_rename(new_file_name, file_name, LOG) == 0;
}

}  // namespace

ServerMark read_or_make_mark()
{
    MarkFile mark{};
    bool fits = read_fitting_mark(&mark);
    const bool is_standby = ::access(standby_signal, F_OK) == 0;
    if (!fits) {
        mark = MarkFile{};
        fits = ::pg_strong_random(mark.token, token_length);
        mark.goes_on = is_standby ? 1 : 0;
        fits = fits && write_mark(&mark);
    } else if (is_standby && mark.goes_on == 0) {
        mark.goes_on = 1;
        fits = write_mark(&mark);
    }
    ServerMark result{};
    result.is_known = fits;
    result.goes_on = mark.goes_on != 0;
    std::memcpy(result.token, mark.token, token_length);
    return result;
}

}  // namespace hipq::memory
