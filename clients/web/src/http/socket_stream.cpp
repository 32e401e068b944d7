// A client's connection: reads requests as a whole, with limits on size and time, before
// cpp-httplib gets them.
#include "http/socket_stream.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace hipq::web {

namespace {

using std::chrono::seconds;

constexpr seconds longest_pause{5};     // between two requests
constexpr seconds longest_request{10};  // from its first byte to its last
constexpr seconds longest_write{30};
constexpr seconds longest_farewell{1};

void name_address(int (*look)(int, sockaddr *, socklen_t *), int socket, std::string &address,
                  int &port)
{
    sockaddr_storage found{};
    socklen_t size = sizeof(found);
    if (look(socket, reinterpret_cast<sockaddr *>(&found), &size) != 0)
        return;
    char text[INET6_ADDRSTRLEN] = "";
    if (found.ss_family == AF_INET) {
        const auto *four = reinterpret_cast<const sockaddr_in *>(&found);
        inet_ntop(AF_INET, &four->sin_addr, text, sizeof(text));
        port = ntohs(four->sin_port);
    } else if (found.ss_family == AF_INET6) {
        const auto *six = reinterpret_cast<const sockaddr_in6 *>(&found);
        inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof(text));
        port = ntohs(six->sin6_port);
    }
    address = text;
}

}  // namespace

SocketStream::SocketStream(int socket, Waits &waits)
    : socket_(socket), waits_(waits), buffer_(std::make_unique_for_overwrite<char[]>(buffer_size))
{
}

SocketStream::~SocketStream()
{
    explicit_bzero(buffer_.get(), filled_);
}

// Receives data, as far as there is room.
bool SocketStream::receive(Waits::Clock::time_point until)
{
    if (!waits_.wait(socket_, POLLIN, since_, until))
        return false;
    const ssize_t size = recv(socket_, buffer_.get() + filled_, buffer_size - filled_, 0);
    if (size <= 0)
        return false;
    filled_ += static_cast<std::size_t>(size);
    return true;
}

bool SocketStream::receive_head(Waits::Clock::time_point until)
{
    static constexpr std::string_view empty_line = "\r\n\r\n";
    for (std::size_t looked = 0;;) {
        const std::size_t found = std::string_view(buffer_.get(), std::min(filled_, longest_head))
                                      .find(empty_line, looked);
        if (found != std::string_view::npos) {
            head_size_ = found + empty_line.size();
            return true;
        }
        if (filled_ >= longest_head)
            throw Problem(431, "the head of the request is longer than " +
                                   std::to_string(longest_head) + " bytes");
        looked = filled_ < empty_line.size() ? 0 : filled_ - empty_line.size() + 1;
        if (!receive(until))
            return false;
    }
}

bool SocketStream::read_request()
{
    since_ = Waits::Clock::now();
    if (filled_ == 0 && !receive(since_ + longest_pause))
        return false;
    const Waits::Clock::time_point until = Waits::Clock::now() + longest_request;
    if (!receive_head(until))
        return false;
    head_ = read_head({buffer_.get(), head_size_});
    given_ = 0;
    while (filled_ < head_size_ + head_.body_size)
        if (!receive(until))
            return false;
    return true;
}

// Data after it belongs to the next request.
void SocketStream::forget_request()
{
    const std::size_t size = std::min(head_size_ + head_.body_size, filled_);
    std::memmove(buffer_.get(), buffer_.get() + size, filled_ - size);
    explicit_bzero(buffer_.get() + (filled_ - size), size);
    filled_ -= size;
    head_size_ = 0;
    head_ = Head();
}

void SocketStream::refuse(const Problem &problem)
{
    const std::string body = error_json(problem);
    const std::string answer = "HTTP/1.1 " + std::to_string(problem.status) +
                               " Refused\r\nContent-Type: application/json\r\nContent-Length: " +
                               std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
    since_ = Waits::Clock::now();
    if (write(answer.data(), answer.size()) < 0)
        return;
    // Closing the socket while data arrives would discard the answer.
    shutdown(socket_, SHUT_WR);
    do
        filled_ = 0;
    while (receive(since_ + longest_farewell));
}

ssize_t SocketStream::read(char *to, std::size_t size)
{
    const bool is_body = given_ >= head_.text.size();
    const std::string_view part =
        is_body ? std::string_view(buffer_.get() + head_size_, head_.body_size)
                : std::string_view(head_.text);
    const std::size_t at = is_body ? given_ - head_.text.size() : given_;
    size = part.copy(to, size, at);
    given_ += size;
    return static_cast<ssize_t>(size);
}

// A client that has closed its end has gone: viewers leave this way.
bool SocketStream::is_left() const
{
    char next = 0;
    return recv(socket_, &next, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

ssize_t SocketStream::write(const char *from, std::size_t size)
{
    if (is_left())
        return -1;
    const Waits::Clock::time_point since = Waits::Clock::now();
    for (std::size_t sent = 0; sent < size;) {
        const ssize_t taken = send(socket_, from + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (taken >= 0)
            sent += static_cast<std::size_t>(taken);
        else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (!waits_.wait(socket_, POLLOUT, since, since + longest_write))
                return -1;
        } else if (errno != EINTR)
            return -1;
    }
    return static_cast<ssize_t>(size);
}

void SocketStream::get_remote_ip_and_port(std::string &address, int &port) const
{
    name_address(::getpeername, socket_, address, port);
}

void SocketStream::get_local_ip_and_port(std::string &address, int &port) const
{
    name_address(::getsockname, socket_, address, port);
}

}  // namespace hipq::web
