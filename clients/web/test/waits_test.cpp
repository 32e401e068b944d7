// Threads that wait for clients: how long, and which one gives way.
#include "http/waits.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <future>
#include <thread>

namespace hipq::web {

namespace {

using std::chrono::seconds;

class Pair {
public:
    Pair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0); }
    ~Pair()
    {
        close(ends_[0]);
        close(ends_[1]);
    }
    int ours() const { return ends_[0]; }
    void say() const { EXPECT_EQ(write(ends_[1], "x", 1), 1); }
    // Until our end was shut down.
    void wait_for_end() const
    {
        char byte = 0;
        EXPECT_EQ(read(ends_[1], &byte, 1), 0);
    }

private:
    std::array<int, 2> ends_{};
};

const Waits::Clock::time_point now = Waits::Clock::now();
const Waits::Clock::time_point late = now + seconds(600);

TEST(Waits, end_when_something_comes)
{
    const Pair pair;
    pair.say();
    EXPECT_TRUE(Waits().wait(pair.ours(), POLLIN, now, late));
}

TEST(Waits, end_in_time)
{
    const Pair pair;
    EXPECT_FALSE(Waits().wait(pair.ours(), POLLIN, now, now));
}

TEST(Waits, give_way_the_longest_first)
{
    Waits waits;
    const Pair earlier;
    const Pair later;
    auto second = std::async(std::launch::async, [&] {
        return waits.wait(later.ours(), POLLIN, now - seconds(1), late);
    });
    auto first = std::async(std::launch::async, [&] {
        return waits.wait(earlier.ours(), POLLIN, now - seconds(2), late);
    });
    while (waits.count() < 2)
        std::this_thread::yield();
    waits.end_longest();
    earlier.wait_for_end();
    EXPECT_FALSE(first.get());
    later.say();
    EXPECT_TRUE(second.get());
}

TEST(Waits, end_all_and_those_that_come_later)
{
    Waits waits;
    const Pair pair;
    auto wait =
        std::async(std::launch::async, [&] { return waits.wait(pair.ours(), POLLIN, now, late); });
    while (waits.count() < 1)
        std::this_thread::yield();
    waits.end_all();
    EXPECT_FALSE(wait.get());
    const Pair other;
    other.say();
    EXPECT_FALSE(waits.wait(other.ours(), POLLIN, now, late));
}

TEST(Waits, need_not_be_there)
{
    Waits waits;
    waits.end_longest();
    EXPECT_EQ(waits.count(), 0U);
}

}  // namespace

}  // namespace hipq::web
