// Keeps other sites out: security headers, and checks of the origin of requests.
#pragma once

#include <string>

#include "http/httplib.hpp"
#include "options/options.hpp"

namespace hipq::web {

class Guard {
public:
    explicit Guard(const Options &options);

    // Throws Problem if the request is for a name other than ours: a page of another site whose
    // name resolves to this machine could otherwise read everything.
    void check_host(const httplib::Request &request) const;
    // Throws Problem if the request came from a page of another site, or from no page.
    void check_origin(const httplib::Request &request) const;

    void add_headers(httplib::Response &response) const;

    // The sender, for the rate limit: its IPv4 address, or its IPv6 network.
    std::string sender(const httplib::Request &request) const;

    // The header of the cookie; an empty value deletes it.
    std::string cookie(const std::string &value) const;
    // The value of the cookie; empty: there is none.
    std::string cookie_of(const httplib::Request &request) const;

private:
    bool is_behind_proxy() const { return !origin_.empty(); }
    bool is_own_name(const std::string &host) const;

    std::string origin_;  // where the proxy serves it
    std::string host_;
    bool is_tls_;
    std::string cookie_name_;
};

}  // namespace hipq::web
