// The table of jobs in flight, against a std::map with the same contents.
#include "core/lanes/job_table.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

using namespace hipq::core;

namespace {

// A table with its memory.
struct Memory {
    JobTableHead head{};
    std::vector<JobEntry> entries;
    std::vector<std::int32_t> buckets;
    std::vector<HolderList> holders;
    LimiterTableHead limiter_head{};
    std::vector<Limiter> limiters;
    std::vector<std::int32_t> limiter_buckets;
    JobTable table;

    Memory(std::size_t capacity, std::size_t bucket_count, std::size_t holder_count)
        : entries(capacity), buckets(bucket_count), holders(holder_count),
          limiters(2 * capacity + 2), limiter_buckets(7),
          table(&head, entries, buckets, holders,
                LimiterTable(&limiter_head, limiters, limiter_buckets))
    {
        table.clear();
    }
};

JobEntry job(std::int64_t id, std::int32_t holder = 0, std::uint32_t database = 1)
{
    JobEntry entry{};
    entry.job_id = id;
    entry.database = database;
    entry.holder = holder;
    return entry;
}

std::vector<std::int64_t> ids_of(const JobTable &table, std::int32_t holder)
{
    std::vector<std::int64_t> ids;
    for (std::int32_t entry = table.first_of(holder); entry != no_entry;
         entry = table.next_of(entry))
        ids.push_back(table.at(entry).job_id);
    return ids;
}

}  // namespace

TEST(JobTable, TellsAnEntryFromTheOneBefore)
{
    Memory memory(1, 1, 2);
    const std::int32_t first = memory.table.insert(job(7));
    const std::uint64_t serial = memory.table[first].serial;
    EXPECT_NE(serial, 0U) << "that is nobody's";
    memory.table.hand_over(first, 1);
    EXPECT_EQ(memory.table[first].serial, serial) << "it is the same with another holder";
    memory.table.erase(first);
    EXPECT_EQ(memory.table.insert(job(7)), first) << "the place is the same";
    EXPECT_NE(memory.table[first].serial, serial);
}

TEST(JobTable, HasAJobOnce)
{
    Memory memory(4, 3, 2);
    EXPECT_NE(memory.table.insert(job(7)), no_entry);
    EXPECT_EQ(memory.table.insert(job(7, 1)), no_entry) << "somebody has it";
    EXPECT_NE(memory.table.insert(job(7, 1, 2)), no_entry)
        << "another database's job of that id is another job";
    EXPECT_EQ(memory.table.size(), 2U);
}

TEST(JobTable, SaysWhenItIsFull)
{
    Memory memory(2, 1, 1);
    EXPECT_NE(memory.table.insert(job(1)), no_entry);
    const std::int32_t second = memory.table.insert(job(2));
    EXPECT_EQ(memory.table.insert(job(3)), no_entry);
    memory.table.erase(second);
    EXPECT_NE(memory.table.insert(job(3)), no_entry);
}

TEST(JobTable, LinksTheEntriesOfAHolder)
{
    Memory memory(8, 2, 2);
    memory.table.insert(job(1, 0));
    const std::int32_t middle = memory.table.insert(job(2, 0));
    memory.table.insert(job(3, 1));
    memory.table.insert(job(4, 0));
    EXPECT_EQ(ids_of(memory.table, 0), (std::vector<std::int64_t>{4, 2, 1}));
    memory.table.erase(middle);
    EXPECT_EQ(ids_of(memory.table, 0), (std::vector<std::int64_t>{4, 1}));
    EXPECT_EQ(ids_of(memory.table, 1), (std::vector<std::int64_t>{3}));
    EXPECT_EQ(memory.table.find(1, 2), no_entry);
}

TEST(JobTable, ErasesWhatAHolderIsToLose)
{
    Memory memory(8, 2, 2);
    for (std::int64_t id = 1; id <= 5; ++id)
        memory.table.insert(job(id, 0));
    memory.table.insert(job(6, 1));
    const auto is_even = [](const JobEntry &entry) { return entry.job_id % 2 == 0; };
    EXPECT_EQ(memory.table.erase_if(0, is_even), 2U);
    EXPECT_EQ(ids_of(memory.table, 0), (std::vector<std::int64_t>{5, 3, 1}));
    EXPECT_EQ(ids_of(memory.table, 1), (std::vector<std::int64_t>{6}));
    EXPECT_EQ(memory.table.erase_if(0, is_even), 0U);
}

TEST(JobTable, HandsAnEntryOver)
{
    Memory memory(8, 2, 3);
    for (std::int64_t id = 1; id <= 3; ++id)
        memory.table.insert(job(id, 0));
    memory.table.insert(job(4, 2));
    memory.table.hand_over(memory.table.find(1, 2), 2);
    EXPECT_EQ(ids_of(memory.table, 0), (std::vector<std::int64_t>{3, 1}));
    EXPECT_EQ(ids_of(memory.table, 2), (std::vector<std::int64_t>{2, 4}));
    memory.table.erase(memory.table.find(1, 2));
    EXPECT_EQ(ids_of(memory.table, 2), (std::vector<std::int64_t>{4}));
}

TEST(JobTable, HandsAnEntryBackAsTheEarliest)
{
    Memory memory(8, 2, 2);
    for (std::int64_t id = 1; id <= 3; ++id)
        memory.table.insert(job(id, 0));
    memory.table.hand_over(memory.table.find(1, 1), 1);
    memory.table.hand_back(memory.table.find(1, 1), 0);
    EXPECT_EQ(memory.table.last_of(0), memory.table.find(1, 1));
    EXPECT_EQ(ids_of(memory.table, 0), (std::vector<std::int64_t>{3, 2, 1}));
    memory.table.hand_back(memory.table.find(1, 2), 1);
    EXPECT_EQ(ids_of(memory.table, 1), (std::vector<std::int64_t>{2})) << "to one without entries";
}

TEST(JobTable, KnowsWithWhichLoadAJobIsCounted)
{
    Memory memory(8, 2, 1);
    const std::int32_t entry = memory.table.insert(job(1, 0));
    EXPECT_FALSE(memory.table.weighs(entry, {1, 7, 9})) << "it is not counted yet";
    EXPECT_EQ(memory.table.key_of(entry), 0U);
    memory.table.weigh(entry, {1, 7, 9});
    EXPECT_TRUE(memory.table.weighs(entry, {1, 7, 9}));
    EXPECT_EQ(memory.table.key_of(entry), 9U);
    EXPECT_FALSE(memory.table.weighs(entry, {2, 7, 9})) << "another weight";
    EXPECT_FALSE(memory.table.weighs(entry, {1, 7, 8})) << "another key";
    memory.table.weigh(entry, {2, 7, 0});
    EXPECT_TRUE(memory.table.weighs(entry, {2, 7, 0})) << "without a key";
}

namespace {

// The jobs of each holder, the latest first.
struct Lists {
    std::array<std::vector<std::int64_t>, 5> of{};

    void add(std::int64_t id, std::int32_t holder) { of[holder].insert(of[holder].begin(), id); }
    void add_last(std::int64_t id, std::int32_t holder) { of[holder].push_back(id); }
    bool remove(std::int64_t id)
    {
        return std::ranges::any_of(of, [&](auto &ids) { return std::erase(ids, id) > 0; });
    }
    std::size_t size() const
    {
        std::size_t count = 0;
        for (const auto &ids : of)
            count += ids.size();
        return count;
    }
};

std::vector<std::int64_t> ids_backwards(const JobTable &table, std::int32_t holder)
{
    std::vector<std::int64_t> ids;
    for (std::int32_t entry = table.last_of(holder); entry != no_entry;
         entry = table.previous_of(entry))
        ids.insert(ids.begin(), table.at(entry).job_id);
    return ids;
}

}  // namespace

TEST(JobTable, AgreesWithLists)
{
    std::mt19937 random(20261121);
    Memory memory(50, 16, 5);
    Lists model;
    for (int step = 0; step < 20'000; ++step) {
        const std::int64_t id = static_cast<std::int64_t>(random() % 100);
        const auto holder = static_cast<std::int32_t>(random() % 5);
        const std::int32_t entry = memory.table.find(1, id);
        ASSERT_EQ(entry != no_entry, model.remove(id));
        switch (entry == no_entry ? 3 : random() % 3) {
        case 0:
            memory.table.hand_over(entry, holder);
            model.add(id, holder);
            break;
        case 1:
            memory.table.hand_back(entry, holder);
            model.add_last(id, holder);
            break;
        case 2:
            memory.table.erase(entry);
            break;
        default:
            if (memory.table.insert(job(id, holder)) != no_entry)
                model.add(id, holder);
            else
                ASSERT_EQ(model.size(), 50U);
        }
        ASSERT_EQ(memory.table.size(), model.size());
        for (std::int32_t each = 0; each < 5; ++each) {
            ASSERT_EQ(ids_of(memory.table, each), model.of[each]);
            ASSERT_EQ(ids_backwards(memory.table, each), model.of[each]);
            ASSERT_EQ(memory.table.count_of(each), std::ssize(model.of[each]));
        }
    }
}
