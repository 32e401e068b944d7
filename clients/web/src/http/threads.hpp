// A thread for each connection: viewers' connections stay for hours, so a fixed number would not
// do.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "http/httplib.hpp"

namespace hipq::web {

// Makes a thread if none is free, up to a limit. Beyond it, a task that only waits must end, and no
// other connection is accepted before this one has a thread.
class Threads : public httplib::TaskQueue {
public:
    // make_room ends a task that only waits. at_end ends the tasks that would continue; it is
    // called before the pool waits for them.
    Threads(std::size_t most, std::function<void()> make_room, std::function<void()> at_end)
        : most_(most), make_room_(std::move(make_room)), at_end_(std::move(at_end))
    {
    }

    // Newer versions of cpp-httplib need to know whether the task was accepted.
    using Taken = decltype(std::declval<httplib::TaskQueue &>().enqueue({}));

    Taken enqueue(std::function<void()> task) override
    {
        std::unique_lock lock(mutex_);
        while (free_ <= tasks_.size() && !add_thread()) {
            make_room_();
            departure_.wait_for(lock, std::chrono::milliseconds(100));
        }
        tasks_.push_back(std::move(task));
        arrival_.notify_one();
        return static_cast<Taken>(true);
    }

    void shutdown() override
    {
        at_end_();
        {
            const std::lock_guard lock(mutex_);
            is_over_ = true;
        }
        arrival_.notify_all();
        for (std::thread &thread : threads_)
            thread.join();
    }

private:
    // False: the limit, or that of the system, is reached.
    bool add_thread()
    {
        if (threads_.size() >= most_)
            return false;
        try {
            threads_.emplace_back([this] { run(); });
            return true;
        } catch (const std::system_error &) {
            return false;
        }
    }

    void run()
    {
        std::unique_lock lock(mutex_);
        while (true) {
            ++free_;
            departure_.notify_one();
            arrival_.wait(lock, [&] { return is_over_ || !tasks_.empty(); });
            --free_;
            if (tasks_.empty())
                return;
            const std::function<void()> task = std::move(tasks_.front());
            tasks_.pop_front();
            lock.unlock();
            task();
            lock.lock();
        }
    }

    std::size_t most_;
    std::function<void()> make_room_;
    std::function<void()> at_end_;
    std::mutex mutex_;
    std::condition_variable arrival_;
    std::condition_variable departure_;
    std::list<std::function<void()>> tasks_;
    std::vector<std::thread> threads_;
    std::size_t free_ = 0;
    bool is_over_ = false;
};

}  // namespace hipq::web
