// The server of cpp-httplib, with limits on requests between its sockets and its parser.
#pragma once

#include <functional>

#include "http/socket_stream.hpp"

namespace hipq::web {

// A thread for each connection, up to a limit. When all are in use, the client with the longest
// wait loses its connection to the next one: so a slow client keeps no other client out.
class Server : public httplib::Server {
public:
    // at_end ends long requests; it is called before the server waits for them.
    explicit Server(std::function<void()> at_end);

    // Lets the system queue more than the 5 connections that cpp-httplib allows to wait for accept.
    // Call after binding.
    void lengthen_line();
    // Ends all waits for clients.
    void end_waits() { waits_.end_all(); }

private:
    bool process_and_close_socket(socket_t socket) override;
    void serve(SocketStream &stream);

    // Later versions pass the addresses.
    template <class Stream>
    bool process(Stream &stream, bool is_last, bool &is_closed)
    {
        if constexpr (requires { this->process_request(stream, is_last, is_closed, nullptr); }) {
            return this->process_request(stream, is_last, is_closed, nullptr);
        } else {
            std::string remote;
            std::string local;
            int remote_port = 0;
            int local_port = 0;
            stream.get_remote_ip_and_port(remote, remote_port);
            stream.get_local_ip_and_port(local, local_port);
            return this->process_request(stream, remote, remote_port, local, local_port, is_last,
                                         is_closed, nullptr);
        }
    }

    socket_t listener_ = INVALID_SOCKET;
    Waits waits_;
};

}  // namespace hipq::web
