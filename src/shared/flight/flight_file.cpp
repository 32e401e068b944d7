// Opens, reads and replaces the file of the flight recorder.
#include "shared/flight/flight_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern "C" {
#include "common/file_perm.h"
}

namespace hipq::flight {

namespace {

constexpr const char *new_file_name = PG_STAT_TMP_DIR "/hipq_flight_recorder.new";

// A file descriptor that closes itself.
class File {
public:
    File(const char *name, int flags)
        : descriptor_(::open(name, flags | O_CLOEXEC | O_NOFOLLOW, pg_file_create_mode))
    {
    }
    ~File()
    {
        const int error = errno;  // preserved for the caller's error report
        if (descriptor_ >= 0)
            ::close(descriptor_);
        errno = error;
    }
    File(const File &) = delete;
    File &operator=(const File &) = delete;

    bool is_open() const { return descriptor_ >= 0; }
    int descriptor() const { return descriptor_; }

    // Reads up to `limit` bytes, or to the end of the file.
    std::vector<std::byte> read(std::size_t limit) const
    {
        std::vector<std::byte> bytes(limit);
        std::size_t done = 0;
        while (done < limit) {
            const ssize_t count = ::read(descriptor_, bytes.data() + done, limit - done);
            if (count < 0 && errno == EINTR)
                continue;
            if (count <= 0)
                break;
            done += static_cast<std::size_t>(count);
        }
        bytes.resize(done);
        return bytes;
    }

    bool write(std::span<const std::byte> bytes) const
    {
        while (!bytes.empty()) {
            const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
            if (count < 0 && errno == EINTR)
                continue;
            if (count <= 0)
                return false;
            bytes = bytes.subspan(static_cast<std::size_t>(count));
        }
        return true;
    }

private:
    int descriptor_;
};

// Returns null if any step fails.
std::byte *map_new_file(std::span<const std::byte> content)
{
    (void)::unlink(new_file_name);
    const File file(new_file_name, O_RDWR | O_CREAT | O_EXCL);
    if (!file.is_open() || !file.write(content))
        return nullptr;
    void *memory =
        ::mmap(nullptr, content.size(), PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor(), 0);
    if (memory == MAP_FAILED)
        return nullptr;
    if (::rename(new_file_name, flight_file_name) == 0)
        return static_cast<std::byte *>(memory);
    const int error = errno;
    (void)::munmap(memory, content.size());
    errno = error;
    return nullptr;
}

void remove_files()
{
    const int error = errno;
    (void)::unlink(new_file_name);
    (void)::unlink(flight_file_name);
    errno = error;
}

}  // namespace

core::FlightStamp own_flight_stamp()
{
    const File boot_id("/proc/sys/kernel/random/boot_id", O_RDONLY);
    std::array<char, 64> text{};
    if (boot_id.is_open()) {
        const std::vector<std::byte> bytes = boot_id.read(text.size() - 1);
        std::memcpy(text.data(), bytes.data(), bytes.size());
    }
    return {::GetSystemIdentifier(), core::boot_id_of(text.data()), MyStartTimestamp};
}

std::vector<std::byte> read_flight_file()
{
    const File file(flight_file_name,
                    O_RDONLY | O_NONBLOCK);  // opening a pipe must not block the server
    struct stat status {};
    if (!file.is_open() || ::fstat(file.descriptor(), &status) != 0 || !S_ISREG(status.st_mode) ||
        static_cast<std::size_t>(status.st_size) > core::flight_log_size(core::max_flight_slots))
        return {};
    return file.read(static_cast<std::size_t>(status.st_size));
}

std::optional<FlightMemory> replace_flight_file(std::span<const std::byte> content)
{
    std::byte *memory = map_new_file(content);
    if (memory == nullptr) {
        remove_files();
        return std::nullopt;
    }
    std::byte *cases = memory + content.size() - core::max_crash_cases * sizeof(core::CrashCase);
    return FlightMemory{reinterpret_cast<core::FlightHeader *>(memory),
                        reinterpret_cast<core::FlightSlot *>(memory + sizeof(core::FlightHeader)),
                        {reinterpret_cast<core::CrashCase *>(cases), core::max_crash_cases},
                        content.size()};
}

void unmap_flight_file(const FlightMemory &memory)
{
    (void)::munmap(memory.header, memory.size);
}

}  // namespace hipq::flight
