// When each entry is due: its latest time counts, and the earliest entry comes first.
#include "core/process/due_heap.hpp"

#include <gtest/gtest.h>

namespace hipq::core {
namespace {

constexpr std::size_t all = 1'000;

TEST(DueHeap, HasNothingDueWhenEmpty)
{
    DueHeap<int> heap;
    EXPECT_EQ(heap.next_due(), never_due);
    EXPECT_TRUE(heap.take_due(never_due - 1, all).empty());
}

TEST(DueHeap, GivesWhatIsDueInTheOrderOfTime)
{
    DueHeap<int> heap;
    heap.set(1, 30);
    heap.set(2, 10);
    heap.set(3, 20);
    EXPECT_EQ(heap.next_due(), 10);
    EXPECT_EQ(heap.take_due(20, all), (std::vector{2, 3}));
    EXPECT_EQ(heap.next_due(), 30);
    EXPECT_TRUE(heap.take_due(29, all).empty());
}

TEST(DueHeap, TakesTheLastWord)
{
    DueHeap<int> heap;
    heap.set(1, 10);
    heap.set(1, 50);
    EXPECT_EQ(heap.due_of(1), 50);
    EXPECT_TRUE(heap.take_due(10, all).empty());
    heap.set(1, never_due);
    EXPECT_EQ(heap.size(), 0U);
    EXPECT_EQ(heap.next_due(), never_due);
}

TEST(DueHeap, BringsForwardButNeverPutsOff)
{
    DueHeap<int> heap;
    heap.bring_forward(1, 50);
    heap.bring_forward(1, 70);
    EXPECT_EQ(heap.due_of(1), 50);
    heap.bring_forward(1, 20);
    EXPECT_EQ(heap.due_of(1), 20);
    EXPECT_EQ(heap.size(), 1U);
}

TEST(DueHeap, LeavesWhatIsMoreThanWasAskedFor)
{
    DueHeap<int> heap;
    for (int key = 0; key < 10; ++key)
        heap.set(key, key);
    EXPECT_EQ(heap.take_due(100, 3), (std::vector{0, 1, 2}));
    EXPECT_EQ(heap.size(), 7U);
    EXPECT_EQ(heap.next_due(), 3);
}

TEST(DueHeap, ForgetsWhatIsNotThereToo)
{
    DueHeap<int> heap;
    heap.set(1, 10);
    heap.forget(1);
    heap.forget(2);
    EXPECT_EQ(heap.size(), 0U);
    EXPECT_EQ(heap.due_of(1), never_due);
}

}  // namespace
}  // namespace hipq::core
