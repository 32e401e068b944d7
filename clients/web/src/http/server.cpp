// The server of cpp-httplib, with limits on requests between its sockets and its parser.
#include "http/server.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>

#include "http/threads.hpp"
#include "http/wiped_memory.hpp"

namespace hipq::web {

namespace {

constexpr std::size_t most_connections = 500;
constexpr int most_requests = 1000;  // per connection

}  // namespace

Server::Server(std::function<void()> at_end)
{
    new_task_queue = [this, at_end = std::move(at_end)] {
        return new Threads(
            most_connections, [this] { waits_.end_longest(); },
            [this, at_end] {
                at_end();
                end_waits();
            });
    };
    // It closes connections by itself; this is the value that clients see.
    set_keep_alive_max_count(most_requests);
    // Unlike cpp-httplib's own option, it keeps other programs off this port.
    set_socket_options([this](socket_t socket) {
        const int yes = 1;
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
        listener_ = socket;
    });
}

void Server::lengthen_line()
{
    ::listen(listener_, SOMAXCONN);
}

void Server::serve(SocketStream &stream)
{
    for (int served = 1; stream.read_request(); ++served) {
        const bool is_last = served == most_requests || svr_sock_ == INVALID_SOCKET;
        bool is_closed = false;
        const bool is_answered = process(stream, is_last, is_closed);
        stream.forget_request();
        wipe_stack();
        if (!is_answered || is_closed || is_last)
            return;
    }
}

// No exception may leave it: that would end the program.
bool Server::process_and_close_socket(socket_t socket)
{
    try {
        SocketStream stream(socket, waits_);
        try {
            serve(stream);
        } catch (const Problem &problem) {
            stream.refuse(problem);
        }
    } catch (const std::exception &error) {
        std::fprintf(stderr, "hipq-web: a request could not be answered: %s\n", error.what());
    }
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
    return true;
}

}  // namespace hipq::web
