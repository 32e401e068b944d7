// Descriptors that close themselves, and pipes of them.
#pragma once

#include <unistd.h>

#include <fcntl.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace hipq::run {

class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(Descriptor &&other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor &operator=(Descriptor &&other) noexcept
    {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor() { close(); }

    int get() const { return number_; }
    explicit operator bool() const { return number_ >= 0; }
    void close()
    {
        if (number_ >= 0)
            ::close(std::exchange(number_, -1));
    }

private:
    int number_ = -1;
};

inline void make_nonblocking(const Descriptor &descriptor)
{
    ::fcntl(descriptor.get(), F_SETFL, O_NONBLOCK);
}

[[noreturn]] inline void throw_system_error(const char *what)
{
    throw std::system_error(errno, std::generic_category(), what);
}

struct Pipe {
    Descriptor read;
    Descriptor write;
};

// Both ends are closed in the programs that hipq-run starts. Their numbers are above those that the
// programs get.
inline Pipe make_pipe()
{
    constexpr int lowest = 10;
    int ends[2];
    if (::pipe(ends) != 0)
        throw_system_error("cannot make a pipe");
    const Descriptor low_read(ends[0]);
    const Descriptor low_write(ends[1]);
    Pipe pipe{Descriptor(::fcntl(ends[0], F_DUPFD_CLOEXEC, lowest)),
              Descriptor(::fcntl(ends[1], F_DUPFD_CLOEXEC, lowest))};
    if (!pipe.read || !pipe.write)
        throw_system_error("cannot make a pipe");
    return pipe;
}

}  // namespace hipq::run
