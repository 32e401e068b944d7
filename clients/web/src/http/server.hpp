// The server of cpp-httplib, between whose sockets and parser stands what bounds requests.
#pragma once

#include <functional>

#include "http/socket_stream.hpp"

namespace hipq::web {

// A thread for each connection, up to a limit. When all have one, the client that was waited for
// longest loses its connection to the next: so one that is slow keeps nobody out.
class Server : public httplib::Server {
public:
    // at_end has the requests end that would go on; it is called before they are waited for.
    explicit Server(std::function<void()> at_end);

    // Has the system keep more than the 5 connections that cpp-httplib lets wait to be accepted.
    // After it was bound.
    void lengthen_line();
    // Ends what waits for clients.
    void end_waits() { waits_.end_all(); }

private:
    bool process_and_close_socket(socket_t socket) override;
    void serve(SocketStream &stream);

    // Later versions are told the addresses.
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
