// The flight recorder's file: written data reads back, and all other data is rejected.
#include "core/recovery/flight_log.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace hipq::core {
namespace {

constexpr std::size_t slots = 3;

FlightStamp stamp()
{
    return {0x1234567890abcdef, boot_id_of("f4c1a556-a8a1-43a4-99cb-04421f526efe\n"), 42};
}

CrashCase crash_case(std::int64_t id)
{
    CrashCase entry{};
    entry.job_id = id;
    entry.started = 7;
    entry.database = 5;
    entry.queue_id = 1;
    entry.attempt = 2;
    entry.pid = 99;
    entry.charge_due = 1;
    return entry;
}

FlightSlot *slot_in(std::vector<std::byte> &file, std::size_t slot)
{
    return reinterpret_cast<FlightSlot *>(file.data() + sizeof(FlightHeader) +
                                          slot * sizeof(FlightSlot));
}

FlightHeader *header_of(std::vector<std::byte> &file)
{
    return reinterpret_cast<FlightHeader *>(file.data());
}

// Writes as an executor does.
void record(FlightSlot &slot, std::uint32_t generation, const std::vector<FlightJob> &jobs,
            QuitMark mark = QuitMark::none)
{
    slot.database = 5;
    slot.queue_id = 1;
    slot.pid = 4711;
    slot.started = 1'000;
    std::ranges::copy(jobs, slot.jobs);
    slot.check = check_of(slot, generation, jobs.size());
    slot.word = pack({generation, mark, static_cast<std::uint16_t>(jobs.size())});
}

// One executor with a job, one with two and a mark, one idle; and one case.
std::vector<std::byte> full_file()
{
    const std::vector<CrashCase> cases{crash_case(77)};
    std::vector<std::byte> file = new_flight_log(stamp(), slots, cases);
    record(*slot_in(file, 0), 3, {{10, 1, 0}});
    record(*slot_in(file, 2), 9, {{20, 1, 0}, {21, 4, 0}}, QuitMark::crash);
    return file;
}

TEST(FlightLog, ANewFileIsEmpty)
{
    const auto log = read_flight_log(new_flight_log(stamp(), slots, {}), stamp());
    ASSERT_TRUE(log.has_value());
    EXPECT_TRUE(log->slots.empty());
    EXPECT_TRUE(log->cases.empty());
    EXPECT_FALSE(log->quit_for_crash);
    EXPECT_FALSE(log->quit_for_stop);
}

TEST(FlightLog, WhatIsRecordedReadsBack)
{
    std::vector<std::byte> file = full_file();
    header_of(file)->quit_for_stop = 1;
    const auto log = read_flight_log(file, stamp());
    ASSERT_TRUE(log.has_value());
    EXPECT_TRUE(log->quit_for_stop);
    ASSERT_EQ(log->slots.size(), 2U);
    EXPECT_EQ(log->slots[0].mark, QuitMark::none);
    EXPECT_EQ(log->slots[0].database, 5U);
    EXPECT_EQ(log->slots[0].pid, 4711);
    ASSERT_EQ(log->slots[0].jobs.size(), 1U);
    EXPECT_EQ(log->slots[0].jobs[0].id, 10);
    EXPECT_EQ(log->slots[1].mark, QuitMark::crash);
    ASSERT_EQ(log->slots[1].jobs.size(), 2U);
    EXPECT_EQ(log->slots[1].jobs[1].id, 21);
    EXPECT_EQ(log->slots[1].jobs[1].attempt, 4);
    ASSERT_EQ(log->cases.size(), 1U);
    EXPECT_EQ(log->cases[0].job_id, 77);
    EXPECT_EQ(log->cases[0].pid, 99);
}

TEST(FlightLog, AWholeBatchFits)
{
    std::vector<std::byte> file = new_flight_log(stamp(), 1, {});
    std::vector<FlightJob> jobs;
    for (std::int64_t id = 1; id <= static_cast<std::int64_t>(max_flight_jobs); ++id)
        jobs.push_back({id, 1, 0});
    record(*slot_in(file, 0), 1, jobs);
    const auto log = read_flight_log(file, stamp());
    ASSERT_TRUE(log.has_value());
    ASSERT_EQ(log->slots.size(), 1U);
    EXPECT_EQ(log->slots[0].jobs.back().id, static_cast<std::int64_t>(max_flight_jobs));
}

TEST(FlightLog, MoreSlotsOrCasesThanFitAreLeftOut)
{
    EXPECT_EQ(new_flight_log(stamp(), max_flight_slots + 1, {}).size(),
              flight_log_size(max_flight_slots));
    const std::vector<CrashCase> cases(max_crash_cases + 1, crash_case(1));
    const auto log = read_flight_log(new_flight_log(stamp(), 1, cases), stamp());
    ASSERT_TRUE(log.has_value());
    EXPECT_EQ(log->cases.size(), max_crash_cases);
}

TEST(FlightLog, AMarkCanBeSetOnAnyWord)
{
    const std::uint64_t word = pack({0xffffffff, QuitMark::none, 1'000});
    for (const QuitMark mark : {QuitMark::crash, QuitMark::stop}) {
        const FlightWord marked = unpack(word | pack({0, mark, 0}));
        EXPECT_EQ(marked.mark, mark);
        EXPECT_EQ(marked.generation, 0xffffffffU);
        EXPECT_EQ(marked.count, 1'000);
    }
}

// ---- rejected files ----

TEST(FlightLog, AnothersFileIsIgnored)
{
    const std::vector<std::byte> file = full_file();
    FlightStamp other = stamp();
    ++other.system_identifier;
    EXPECT_FALSE(read_flight_log(file, other).has_value());
    other = stamp();
    other.boot_id = boot_id_of("f4c1a556-a8a1-43a4-99cb-04421f526eff");
    EXPECT_FALSE(read_flight_log(file, other).has_value());
    other = stamp();
    other.server_start = 43;  // the server was started again, which is the purpose of the file
    EXPECT_TRUE(read_flight_log(file, other).has_value());
}

TEST(FlightLog, WithoutABootIdNothingIsKnown)
{
    FlightStamp unknown = stamp();
    unknown.boot_id = boot_id_of("");
    EXPECT_FALSE(read_flight_log(new_flight_log(unknown, slots, {}), unknown).has_value());
    unknown.boot_id = boot_id_of(std::string(40, 'x'));
    EXPECT_EQ(unknown.boot_id, boot_id_of(""));
}

TEST(FlightLog, AnyOtherLengthIsIgnored)
{
    const std::vector<std::byte> file = full_file();
    std::mt19937 random(1);
    for (int i = 0; i < 300; ++i) {
        const std::size_t size = random() % file.size();
        EXPECT_FALSE(read_flight_log(std::span(file).first(size), stamp()).has_value()) << size;
    }
    std::vector<std::byte> longer = file;
    longer.push_back(std::byte{0});
    EXPECT_FALSE(read_flight_log(longer, stamp()).has_value());
    EXPECT_FALSE(read_flight_log({}, stamp()).has_value());
}

TEST(FlightLog, ADamagedHeadIsIgnored)
{
    const std::vector<std::byte> file = full_file();
    for (std::size_t at = 0; at < offsetof(FlightHeader, quit_for_crash); ++at) {
        for (int bit = 0; bit < 8; ++bit) {
            std::vector<std::byte> damaged = file;
            damaged[at] ^= std::byte{1} << bit;
            EXPECT_FALSE(read_flight_log(damaged, stamp()).has_value())
                << "byte " << at << ", bit " << bit;
        }
    }
}

// A flipped bit in the valid part of a slot or case: this entry is left out, the others stay.
TEST(FlightLog, ADamagedSlotIsLeftOut)
{
    const std::vector<std::byte> file = full_file();
    const std::size_t begin = sizeof(FlightHeader);
    const std::size_t counted = offsetof(FlightSlot, jobs) + offsetof(FlightJob, unused);
    for (std::size_t at = 0; at < counted; ++at) {
        for (int bit = 0; bit < 8; ++bit) {
            if (at == 2 && bit < 2)
                continue;  // the mark, which a signal handler sets
            std::vector<std::byte> damaged = file;
            damaged[begin + at] ^= std::byte{1} << bit;
            const auto log = read_flight_log(damaged, stamp());
            ASSERT_TRUE(log.has_value());
            ASSERT_EQ(log->slots.size(), 1U) << "byte " << at << ", bit " << bit;
            EXPECT_EQ(log->slots[0].jobs[0].id, 20);
        }
    }
}

TEST(FlightLog, ADamagedCaseIsLeftOut)
{
    const std::vector<std::byte> file = full_file();
    const std::size_t begin = file.size() - max_crash_cases * sizeof(CrashCase);
    for (std::size_t at = 0; at < sizeof(CrashCase); ++at) {
        std::vector<std::byte> damaged = file;
        damaged[begin + at] ^= std::byte{1};
        const auto log = read_flight_log(damaged, stamp());
        ASSERT_TRUE(log.has_value());
        EXPECT_TRUE(log->cases.empty()) << "byte " << at;
    }
}

// Forged values: the check is right, but the values are impossible.
TEST(FlightLog, ImpossibleValuesAreLeftOut)
{
    const auto slots_read = [](auto &&change) {
        std::vector<std::byte> file = new_flight_log(stamp(), 1, {});
        FlightSlot &slot = *slot_in(file, 0);
        record(slot, 1, {{10, 1, 0}});
        change(slot);
        slot.check = check_of(slot, unpack(slot.word).generation, unpack(slot.word).count);
        return read_flight_log(file, stamp())->slots.size();
    };
    EXPECT_EQ(slots_read([](FlightSlot &) {}), 1U);
    EXPECT_EQ(slots_read([](FlightSlot &slot) { slot.jobs[0].id = 0; }), 0U);
    EXPECT_EQ(slots_read([](FlightSlot &slot) { slot.jobs[0].id = -1; }), 0U);
    EXPECT_EQ(slots_read([](FlightSlot &slot) { slot.jobs[0].attempt = -1; }), 0U);
    EXPECT_EQ(slots_read([](FlightSlot &slot) { slot.database = 0; }), 0U);
    EXPECT_EQ(slots_read([](FlightSlot &slot) { slot.queue_id = 0; }), 0U);
    EXPECT_EQ(slots_read([](FlightSlot &slot) {
                  slot.word = pack({1, QuitMark::none, 0xffff});
              }),
              0U);
    EXPECT_EQ(slots_read([](FlightSlot &slot) { slot.word = pack({1, QuitMark{3}, 1}); }), 0U);
    EXPECT_EQ(slots_read([](FlightSlot &slot) { slot.word |= std::uint64_t{1} << 24; }), 0U);
}

// For arbitrary bytes: it returns a result, and only possible values.
TEST(FlightLog, RandomDamageIsSurvived)
{
    std::mt19937 random(20261121);
    for (int round = 0; round < 500; ++round) {
        std::vector<std::byte> file = full_file();
        const std::size_t damages = 1 + random() % 64;
        // Half of them in the header and the first slot, which contain most of the data.
        for (std::size_t i = 0; i < damages; ++i)
            file[random() % (random() % 2 == 0 ? 200 : file.size())] =
                static_cast<std::byte>(random());
        if (random() % 4 == 0)
            file.resize(random() % (file.size() + 1));
        const auto log = read_flight_log(file, stamp());
        if (!log.has_value())
            continue;
        for (const FlightSlotRead &slot : log->slots) {
            EXPECT_FALSE(slot.jobs.empty());
            EXPECT_LE(slot.jobs.size(), max_flight_jobs);
            EXPECT_TRUE(std::ranges::all_of(
                slot.jobs, [](const FlightJob &job) { return job.id > 0 && job.attempt >= 0; }));
        }
    }
}

}  // namespace
}  // namespace hipq::core
