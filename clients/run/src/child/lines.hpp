// Keeps the output of a program: its end, and line by line.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace hipq::run {

// The last bytes of a stream; lines with a lost beginning are left out if others remain.
class Tail {
public:
    explicit Tail(std::size_t most) : most_(most) {}

    void add(std::string_view bytes)
    {
        text_ += bytes;
        if (text_.size() <= 2 * most_)
            return;
        text_.erase(0, text_.size() - most_);
        is_cut_ = true;
    }
    std::string text() const
    {
        const bool is_cut = is_cut_ || text_.size() > most_;
        const std::string last = text_.size() > most_ ? text_.substr(text_.size() - most_) : text_;
        const std::size_t line = last.find('\n');
        return is_cut && line + 1 < last.size() ? last.substr(line + 1) : last;
    }

private:
    std::size_t most_;
    std::string text_;
    bool is_cut_ = false;
};

// Calls a function for each line, without its newline. A longer line comes in pieces, is left out,
// or is cut: then it has one byte too many.
class Lines {
public:
    enum class Long { in_pieces, left_out, cut };
    Lines(std::size_t most, Long is_long, std::function<void(const std::string &)> call)
        : most_(most), long_(is_long), call_(std::move(call))
    {
    }

    void add(std::string_view bytes)
    {
        while (!bytes.empty()) {
            const std::size_t end = bytes.find('\n');
            add_part(bytes.substr(0, end));
            if (end == std::string_view::npos)
                return;
            give();
            bytes.remove_prefix(end + 1);
        }
    }
    // The stream has ended: the rest is a line.
    void end()
    {
        if (!line_.empty())
            give();
    }

private:
    void add_part(std::string_view part)
    {
        while (line_.size() + part.size() > most_) {
            if (long_ == Long::left_out) {
                is_skipped_ = true;
                line_.clear();
                return;
            }
            if (long_ == Long::cut) {
                line_ = (line_ += part).substr(0, most_ + 1);
                return;
            }
            const std::size_t room = most_ - line_.size();
            line_ += part.substr(0, room);
            part.remove_prefix(room);
            give();
        }
        line_ += part;
    }
    void give()
    {
        const std::string line = std::exchange(line_, {});
        if (!std::exchange(is_skipped_, false))
            call_(line);
    }

    std::size_t most_;
    Long long_;
    std::function<void(const std::string &)> call_;
    std::string line_;
    bool is_skipped_ = false;
};

}  // namespace hipq::run
