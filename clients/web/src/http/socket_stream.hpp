// A connection of a client: reads requests whole, within bounds of size and time, before
// cpp-httplib gets them.
#pragma once

#include <memory>

#include "http/head.hpp"
#include "http/httplib.hpp"
#include "http/problem.hpp"
#include "http/waits.hpp"

namespace hipq::web {

// What cpp-httplib asks of a stream depends on its version. It never has to wait by itself.
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

// What cpp-httplib reads is in memory already, and what it writes is sent within a bound of time.
class SocketStream : public AnyStream {
public:
    SocketStream(int socket, Waits &waits);
    // Wipes what was received: it may hold passwords.
    ~SocketStream() override;

    // Reads the next request. False: the client is gone, or was too slow. Throws Problem if it can
    // not be answered: the connection has to end then.
    bool read_request();
    // Wipes the request that was read.
    void forget_request();
    // Answers what could not be read, and waits a little for the client to take that.
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
    std::unique_ptr<char[]> buffer_;  // what was received, from the head of the request on
    std::size_t filled_ = 0;
    std::size_t head_size_ = 0;  // as received
    Head head_;
    std::size_t given_ = 0;  // of the request, to cpp-httplib
    Waits::Clock::time_point since_;
};

}  // namespace hipq::web
