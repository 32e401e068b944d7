// Serves one page over HTTP, for Prometheus.
#include "system/http.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <memory>

#include "options/values.hpp"

namespace hipq::run {

namespace {

constexpr std::size_t most_clients = 32;
constexpr std::size_t longest_request = 8'192;
constexpr client::Loop::Milliseconds longest_wait{5'000};

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo *)>;

Addresses resolve(const Address &address)
{
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    addrinfo *found = nullptr;
    const int problem = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
    if (problem != 0)
        throw UsageError("--metrics " + address.host + ": " + ::gai_strerror(problem));
    return {found, ::freeaddrinfo};
}

Descriptor listen_at(const std::string &text)
{
    const Addresses addresses = resolve(read_address(text));
    Descriptor descriptor(
        ::socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int yes = 1;
    ::setsockopt(descriptor.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (::bind(descriptor.get(), addresses->ai_addr, addresses->ai_addrlen) != 0 ||
        ::listen(descriptor.get(), 16) != 0)
        throw UsageError("--metrics " + text + ": " + std::generic_category().message(errno));
    return descriptor;
}

std::string response(const char *status, const std::string &body)
{
    return "HTTP/1.1 " + std::string(status) +
           "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nConnection: close\r\n"
           "Content-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace

Http::Http(client::Loop &loop, const std::string &address, std::function<std::string()> page)
    : loop_(loop), page_(std::move(page)), listener_(listen_at(address))
{
    loop_.watch(listener_.get(), POLLIN, [this](short) { accept(); });
}

Http::~Http()
{
    while (!clients_.empty())
        close(clients_.begin()->first);
    loop_.forget(listener_.get());
}

void Http::accept()
{
    Descriptor visitor(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!visitor || clients_.size() >= most_clients)
        return;
    const int descriptor = visitor.get();
    const client::Loop::Timer timer =
        loop_.after(longest_wait, [this, descriptor] { close(descriptor); });
    clients_[descriptor] = Client{std::move(visitor), {}, {}, timer};
    loop_.watch(descriptor, POLLIN, [this, descriptor](short) { serve(descriptor); });
}

// Reads up to the empty line after the request's head.
void Http::serve(int descriptor)
{
    Client &visitor = clients_.at(descriptor);
    std::array<char, 2'048> bytes{};
    const ssize_t length = ::read(descriptor, bytes.data(), bytes.size());
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (length <= 0 || visitor.request.size() > longest_request)
        return close(descriptor);
    visitor.request.append(bytes.data(), static_cast<std::size_t>(length));
    if (visitor.request.find("\r\n\r\n") == std::string::npos)
        return;
    visitor.answer = answer_to(visitor.request);
    loop_.watch(descriptor, POLLOUT, [this, descriptor](short) { send(descriptor); });
}

void Http::send(int descriptor)
{
    Client &visitor = clients_.at(descriptor);
    const ssize_t length =
        ::send(descriptor, visitor.answer.data(), visitor.answer.size(), MSG_NOSIGNAL);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (length > 0)
        visitor.answer.erase(0, static_cast<std::size_t>(length));
    if (length <= 0 || visitor.answer.empty())
        close(descriptor);
}

void Http::close(int descriptor)
{
    loop_.cancel(clients_.at(descriptor).timer);
    loop_.forget(descriptor);
    clients_.erase(descriptor);
}

std::string Http::answer_to(const std::string &request) const
{
    if (!request.starts_with("GET "))
        return response("405 Method Not Allowed", "");
    if (request.starts_with("GET /metrics ") || request.starts_with("GET /metrics?"))
        return response("200 OK", page_());
    return response("404 Not Found", "The page is /metrics.\n");
}

}  // namespace hipq::run
