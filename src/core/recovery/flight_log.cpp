// Writes a new file, and reads a file after a crash.
#include "core/recovery/flight_log.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace hipq::core {

namespace {

constexpr std::uint64_t magic = 0x7265646f63657268;  // spells its purpose in a dump
constexpr std::uint32_t version = 3;

// FNV-1a over whole words: protects against damage, not against forgery.
class Sum {
public:
    template <class... Values>
    Sum &add(Values... values)
    {
        ((value_ = (value_ ^ static_cast<std::uint64_t>(values)) * 0x100000001b3), ...);
        return *this;
    }
    std::uint64_t wide() const { return value_; }
    std::uint32_t narrow() const { return static_cast<std::uint32_t>(value_ ^ value_ >> 32); }

private:
    std::uint64_t value_ = 0xcbf29ce484222325;
};

std::uint64_t check_of(const FlightHeader &header)
{
    Sum sum;
    sum.add(header.magic, header.version, header.slot_count, header.case_count, header.slot_size,
            header.stamp.system_identifier, header.stamp.server_start, header.streak.last,
            header.streak.count);
    for (const char c : header.stamp.boot_id)
        sum.add(static_cast<unsigned char>(c));
    return sum.wide();
}

// Copies, because the bytes of a file are not aligned.
template <class T>
T read_at(std::span<const std::byte> file, std::size_t offset)
{
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(static_cast<void *>(&value), file.data() + offset, sizeof(T));
    return value;
}

bool is_whole(const FlightHeader &header, std::size_t file_size)
{
    return header.magic == magic && header.version == version &&
           header.slot_count <= max_flight_slots && header.case_count == max_crash_cases &&
           header.slot_size == sizeof(FlightSlot) && header.check == check_of(header) &&
           file_size == flight_log_size(header.slot_count);
}

bool belongs_to(const FlightHeader &header, const FlightStamp &stamp)
{
    return header.stamp.system_identifier == stamp.system_identifier &&
           header.stamp.boot_id == stamp.boot_id && stamp.boot_id.front() != '\0';
}

bool is_job(const FlightJob &job)
{
    return job.id > 0 && job.attempt >= 0;
}

// Ignores a slot that has no jobs or is inconsistent.
std::optional<FlightSlotRead> read_slot(const FlightSlot &slot)
{
    const FlightWord word = unpack(slot.word);
    if (word.count == 0 || word.count > max_flight_jobs || word.mark > QuitMark::stop)
        return std::nullopt;
    const std::span<const FlightJob> jobs(slot.jobs, word.count);
    if (slot.word != pack(word) || slot.check != check_of(slot, word.generation, word.count) ||
        slot.database == 0 || slot.queue_id <= 0 || !std::ranges::all_of(jobs, is_job))
        return std::nullopt;
    return FlightSlotRead{word.mark, slot.database, slot.queue_id,
                          slot.pid,  slot.started,  {jobs.begin(), jobs.end()}};
}

bool is_case(const CrashCase &entry)
{
    return entry.job_id > 0 && entry.database != 0 && entry.queue_id > 0 && entry.attempt >= 0 &&
           entry.check == check_of(entry);
}

}  // namespace

std::uint32_t check_of(const FlightSlot &slot, std::uint32_t generation, std::size_t count)
{
    Sum sum;
    sum.add(generation, count, slot.database, slot.queue_id, slot.pid, slot.started);
    for (const FlightJob &job : std::span(slot.jobs, std::min(count, max_flight_jobs)))
        sum.add(job.id, job.attempt);
    return sum.narrow();
}

std::uint32_t check_of(const CrashCase &entry)
{
    Sum sum;
    sum.add(entry.job_id, entry.started, entry.crashed, entry.database, entry.queue_id,
            entry.attempt, entry.pid, entry.charge_due, entry.return_due, entry.runs_alone,
            entry.sightings, entry.with_others);
    for (const std::uint8_t byte : entry.unused)
        sum.add(byte);
    return sum.narrow();
}

std::vector<std::byte> new_flight_log(const FlightStamp &stamp, std::size_t slots,
                                      std::span<const CrashCase> cases, CrashStreak streak)
{
    FlightHeader header{};
    header.magic = magic;
    header.version = version;
    header.slot_count = static_cast<std::uint32_t>(std::min(slots, max_flight_slots));
    header.case_count = max_crash_cases;
    header.slot_size = sizeof(FlightSlot);
    header.stamp = stamp;
    header.streak = streak;
    header.check = check_of(header);
    std::vector<std::byte> file(flight_log_size(header.slot_count));
    std::memcpy(file.data(), &header, sizeof(header));
    std::size_t offset = file.size() - max_crash_cases * sizeof(CrashCase);
    for (CrashCase entry : cases.first(std::min(cases.size(), max_crash_cases))) {
        entry.check = check_of(entry);
        std::memcpy(file.data() + offset, &entry, sizeof(entry));
        offset += sizeof(entry);
    }
    return file;
}

std::optional<FlightLog> read_flight_log(std::span<const std::byte> file, const FlightStamp &stamp)
{
    if (file.size() < sizeof(FlightHeader))
        return std::nullopt;
    const auto header = read_at<FlightHeader>(file, 0);
    if (!is_whole(header, file.size()) || !belongs_to(header, stamp))
        return std::nullopt;
    FlightLog log{header.quit_for_crash != 0, header.quit_for_stop != 0, {}, {}, header.streak};
    std::size_t offset = sizeof(FlightHeader);
    for (std::uint32_t i = 0; i < header.slot_count; ++i, offset += sizeof(FlightSlot))
        if (auto slot = read_slot(read_at<FlightSlot>(file, offset)))
            log.slots.push_back(std::move(*slot));
    for (std::uint32_t i = 0; i < header.case_count; ++i, offset += sizeof(CrashCase))
        if (const auto entry = read_at<CrashCase>(file, offset); is_case(entry))
            log.cases.push_back(entry);
    return log;
}

std::array<char, 40> boot_id_of(std::string_view text)
{
    std::array<char, 40> id{};
    while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
        text.remove_suffix(1);
    if (text.size() < id.size())
        std::ranges::copy(text, id.begin());
    return id;
}

}  // namespace hipq::core
