// A client's connection: reads requests as a whole, with limits on size and time, before
// cpp-httplib gets them.
#pragma once

#include <memory>

#include "http/head.hpp"
#include "http/httplib.hpp"
#include "http/problem.hpp"
#include "http/waits.hpp"

namespace hipq::web {

// The stream interface depends on the version of cpp-httplib. cpp-httplib itself never has to wait.
class AnyStream : public httplib::Stream {
public:
    // NOLINTBEGIN(modernize-use-override)
    virtual bool is_readable() const { return true; }
    virtual bool is_writable() const { return true; }
    virtual bool wait_readable() const { return true; }
    virtual bool wait_writable() const { return true; }
    virtual time_t duration() const { return 0; }
    // NOLINTEND(modernize-use-override)
};

// cpp-httplib reads from memory, and what it writes is sent within a time limit.
class SocketStream : public AnyStream {
public:
    SocketStream(int socket, Waits &waits);
    // Wipes the received data: it may contain passwords.
    ~SocketStream() override;

    // Reads the next request. False: the client has gone, or was too slow. Throws Problem if the
    // request cannot be answered: then the connection must end.
    bool read_request();
    // Wipes the request that was read.
    void forget_request();
    // Answers an unreadable request, and waits briefly for the client to receive the answer.
    void refuse(const Problem &problem);

    ssize_t read(char *to, std::size_t size) override;
    ssize_t write(const char *from, std::size_t size) override;
    void get_remote_ip_and_port(std::string &address, int &port) const override;
    void get_local_ip_and_port(std::string &address, int &port) const override;
    socket_t socket() const override { return socket_; }

private:
    static constexpr std::size_t buffer_size = longest_head + longest_body;

    bool receive(Waits::Clock::time_point until);
    bool is_left() const;
    bool receive_head(Waits::Clock::time_point until);

    int socket_;
    Waits &waits_;
    std::unique_ptr<char[]> buffer_;  // received data, from the head of the request on
    std::size_t filled_ = 0;
    std::size_t head_size_ = 0;  // as received
    Head head_;
    std::size_t given_ = 0;  // part of the request that cpp-httplib has read
    Waits::Clock::time_point since_;
};

}  // namespace hipq::web
