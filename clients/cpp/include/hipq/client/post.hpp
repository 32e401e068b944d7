// Posts to a URL by HTTP, in a Loop, one request at a time, without blocking. Needs libcurl.
#pragma once

#include "hipq/client/loop.hpp"

#include <sys/socket.h>

#include <curl/curl.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace hipq::client {

// The reply: an HTTP status and a body; or, with status 0, the reason why there is none.
struct Posted {
    long status = 0;
    std::string text = {};
};

class Post {
public:
    using Done = std::function<void(const Posted &)>;

    // Throws std::invalid_argument if it is not an HTTP URL.
    Post(Loop &loop, const std::string &url, const std::vector<std::string> &headers,
         Loop::Milliseconds timeout)
        : loop_(loop), multi_(curl_multi_init(), curl_multi_cleanup),
          easy_(curl_easy_init(), curl_easy_cleanup), headers_(nullptr, curl_slist_free_all)
    {
        if (!multi_ || !easy_)
            throw std::bad_alloc();
        check(url);
        for (const std::string &header : headers)
            headers_.reset(curl_slist_append(headers_.release(), header.c_str()));
        curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, on_socket);
        curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this);
        curl_multi_setopt(multi_.get(), CURLMOPT_TIMERFUNCTION, on_timer);
        curl_multi_setopt(multi_.get(), CURLMOPT_TIMERDATA, this);
        set(CURLOPT_URL, url.c_str());
        set(CURLOPT_HTTPHEADER, headers_.get());
        set(CURLOPT_TIMEOUT_MS, static_cast<long>(timeout.count()));
        set(CURLOPT_NOSIGNAL, 1L);
        // A pending name lookup does not keep the program from exiting.
        set(CURLOPT_QUICK_EXIT, 1L);
        set(CURLOPT_ERRORBUFFER, problem_.data());
        set(CURLOPT_OPENSOCKETFUNCTION, open_socket);
        set(CURLOPT_WRITEFUNCTION, on_body);
        set(CURLOPT_WRITEDATA, this);
    }
    Post(const Post &) = delete;
    Post &operator=(const Post &) = delete;
    ~Post()
    {
        cancel();
        curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, nullptr);
        curl_multi_setopt(multi_.get(), CURLMOPT_TIMERFUNCTION, nullptr);
        loop_.cancel(timer_);
    }

    // Throws std::invalid_argument.
    static void check(const std::string &url)
    {
        const std::unique_ptr<CURLU, void (*)(CURLU *)> parsed(curl_url(), curl_url_cleanup);
        char *scheme = nullptr;
        const bool is_url =
            curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) == CURLUE_OK &&
            curl_url_get(parsed.get(), CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK;
        const std::string given = scheme == nullptr ? "" : scheme;
        curl_free(scheme);
        if (!is_url || (given != "http" && given != "https"))
            throw std::invalid_argument("needs a URL such as http://localhost:4318/v1/traces");
    }

    // The previous request must be done. Calls the function later, in a turn of the loop.
    void send(std::string body, Done done)
    {
        body_ = std::move(body);
        answer_.clear();
        problem_[0] = '\0';
        done_ = std::move(done);
        set(CURLOPT_POSTFIELDS, body_.c_str());
        set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body_.size()));
        curl_multi_add_handle(multi_.get(), easy_.get());
        is_busy_ = true;
    }

    // Its function is no longer called.
    void cancel()
    {
        if (std::exchange(is_busy_, false))
            curl_multi_remove_handle(multi_.get(), easy_.get());
        // libcurl reports sockets that it closes.
        curl_multi_socket_action(multi_.get(), CURL_SOCKET_TIMEOUT, 0, &running_);
    }

private:
    template <typename Value>
    void set(CURLoption option, Value value)
    {
        curl_easy_setopt(easy_.get(), option, value);
    }

    // ---- callbacks of libcurl

    static int on_socket(CURL *, curl_socket_t socket, int what, void *self, void *)
    {
        static_cast<Post *>(self)->watch(socket, what);
        return 0;
    }
    static int on_timer(CURLM *, long milliseconds, void *self)
    {
        static_cast<Post *>(self)->wait(milliseconds);
        return 0;
    }
    // Programs that are started meanwhile do not inherit it.
    static curl_socket_t open_socket(void *, curlsocktype, curl_sockaddr *address)
    {
        return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    }
    static std::size_t on_body(char *bytes, std::size_t one, std::size_t count, void *self)
    {
        constexpr std::size_t longest = 65'536;
        std::string &answer = static_cast<Post *>(self)->answer_;
        if (answer.size() < longest)
            answer.append(bytes, one * count);
        return one * count;
    }

    // ---- in the loop

    void watch(curl_socket_t socket, int what)
    {
        if (what == CURL_POLL_REMOVE)
            return loop_.forget(socket);
        const int events =
            ((what & CURL_POLL_IN) != 0 ? POLLIN : 0) | ((what & CURL_POLL_OUT) != 0 ? POLLOUT : 0);
        loop_.watch(socket, static_cast<short>(events), [this, socket](short came) {
            act(socket, ((came & (POLLIN | POLLHUP)) != 0 ? CURL_CSELECT_IN : 0) |
                            ((came & POLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
                            ((came & (POLLERR | POLLNVAL)) != 0 ? CURL_CSELECT_ERR : 0));
        });
    }

    void wait(long milliseconds)
    {
        loop_.cancel(timer_);
        if (milliseconds >= 0)
            timer_ = loop_.after(Loop::Milliseconds(milliseconds),
                                 [this] { act(CURL_SOCKET_TIMEOUT, 0); });
    }

    void act(curl_socket_t socket, int events)
    {
        curl_multi_socket_action(multi_.get(), socket, events, &running_);
        int left = 0;
        while (const CURLMsg *message = curl_multi_info_read(multi_.get(), &left))
            if (message->msg == CURLMSG_DONE)
                return finish(message->data.result);
    }

    void finish(CURLcode code)
    {
        Posted posted;
        if (code == CURLE_OK) {
            curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &posted.status);
            posted.text = answer_;
        } else {
            posted.text = problem_[0] != '\0' ? problem_.data() : curl_easy_strerror(code);
        }
        curl_multi_remove_handle(multi_.get(), easy_.get());
        is_busy_ = false;
        const Done done = std::move(done_);
        done(posted);
    }

    Loop &loop_;
    std::array<char, CURL_ERROR_SIZE> problem_{};
    std::string body_;
    std::string answer_;
    Done done_;
    Loop::Timer timer_;
    int running_ = 0;
    bool is_busy_ = false;
    // These members are destroyed before the others, the last one first.
    std::unique_ptr<CURLM, CURLMcode (*)(CURLM *)> multi_;
    std::unique_ptr<CURL, void (*)(CURL *)> easy_;
    std::unique_ptr<curl_slist, void (*)(curl_slist *)> headers_;
};

}  // namespace hipq::client
