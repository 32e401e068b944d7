// A thread for each connection: those of viewers stay for hours, so a fixed few would not do.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "http/httplib.hpp"

namespace hipq::web {

// Makes a thread when none is free, up to a limit; what comes then waits for one.
class Threads : public httplib::TaskQueue {
public:
    // at_end has the tasks end that would go on; it is called before they are waited for.
    Threads(std::size_t most, std::function<void()> at_end)
        : most_(most), at_end_(std::move(at_end))
    {
    }

    // Newer versions of cpp-httplib want to know whether the task was taken.
    using Taken = decltype(std::declval<httplib::TaskQueue &>().enqueue({}));

    Taken enqueue(std::function<void()> task) override
    {
        const std::lock_guard lock(mutex_);
        tasks_.push_back(std::move(task));
        if (free_ >= tasks_.size() || threads_.size() >= most_)
            arrival_.notify_one();
        else
            threads_.emplace_back([this] { run(); });
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
    void run()
    {
        std::unique_lock lock(mutex_);
        while (true) {
            ++free_;
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
    std::function<void()> at_end_;
    std::mutex mutex_;
    std::condition_variable arrival_;
    std::list<std::function<void()>> tasks_;
    std::vector<std::thread> threads_;
    std::size_t free_ = 0;
    bool is_over_ = false;
};

}  // namespace hipq::web
