// Protection against other sites: host names, origins, addresses and cookies.
#include "http/guard.hpp"
#include "http/problem.hpp"

#include <gtest/gtest.h>

namespace hipq::web {

namespace {

httplib::Request request(std::initializer_list<std::pair<const char *, const char *>> headers)
{
    httplib::Request made;
    made.path = "/api/session";
    made.remote_addr = "9.9.9.9";
    for (const auto &[name, value] : headers)
        made.headers.emplace(name, value);
    return made;
}

Guard alone()
{
    return Guard(Options());
}

Guard behind_proxy()
{
    Options options;
    options.origin = "https://jobs.example.com";
    return Guard(options);
}

bool takes_host(const Guard &guard, const char *host, const char *path = "/api/session")
{
    httplib::Request asked = request({{"Host", host}});
    asked.path = path;
    try {
        guard.check_host(asked);
        return true;
    } catch (const Problem &problem) {
        EXPECT_EQ(problem.status, 421);
        return false;
    }
}

bool takes_origin(const Guard &guard,
                  std::initializer_list<std::pair<const char *, const char *>> headers)
{
    try {
        guard.check_origin(request(headers));
        return true;
    } catch (const Problem &problem) {
        EXPECT_EQ(problem.status, 403);
        return false;
    }
}

TEST(Guard, answers_to_names_of_this_machine)
{
    for (const char *host :
         {"127.0.0.1:8484", "localhost:8484", "[::1]:8484", "localhost", "[::1]", "127.3.2.1"})
        EXPECT_TRUE(takes_host(alone(), host)) << host;
    for (const char *host : {"evil.example:8484", "localhost.evil.example", "", "[::2]:8484", "[",
                             "127.evil.example:8484", "127.0.0.1.evil.example", "127.1", "[]",
                             "[::1].evil.example", "localhost:8484.evil.example", "[::1"})
        EXPECT_FALSE(takes_host(alone(), host)) << host;
}

TEST(Guard, answers_to_the_name_of_the_proxy_alone)
{
    EXPECT_TRUE(takes_host(behind_proxy(), "jobs.example.com"));
    EXPECT_FALSE(takes_host(behind_proxy(), "127.0.0.1:8484"));
    EXPECT_FALSE(takes_host(behind_proxy(), "jobs.example.com.evil.example"));
}

// Otherwise a page whose name leads to this machine could read them.
TEST(Guard, tells_metrics_to_this_machine_and_by_its_name)
{
    EXPECT_TRUE(takes_host(behind_proxy(), "127.0.0.1:8080", "/metrics"));
    EXPECT_TRUE(takes_host(behind_proxy(), "jobs.example.com", "/metrics"));
    EXPECT_FALSE(takes_host(behind_proxy(), "other.example.com", "/metrics"));
    EXPECT_FALSE(takes_host(alone(), "other.example.com:8080", "/metrics"));
    EXPECT_FALSE(takes_host(alone(), "127.example.com:8080", "/metrics"));
    EXPECT_TRUE(takes_host(alone(), "other.example.com", "/healthz"));
}

TEST(Guard, takes_what_the_page_itself_sends)
{
    EXPECT_TRUE(takes_origin(alone(), {{"Host", "localhost:1"}, {"Origin", "http://localhost:1"}}));
    EXPECT_TRUE(
        takes_origin(alone(), {{"Host", "localhost:1"}, {"Sec-Fetch-Site", "same-origin"}}));
    EXPECT_TRUE(takes_origin(behind_proxy(), {{"Origin", "https://jobs.example.com"}}));
}

TEST(Guard, refuses_what_others_send)
{
    EXPECT_FALSE(takes_origin(alone(), {{"Host", "localhost:1"}}));
    EXPECT_FALSE(takes_origin(alone(), {{"Host", "localhost:1"}, {"Origin", "null"}}));
    EXPECT_FALSE(
        takes_origin(alone(), {{"Host", "localhost:1"}, {"Origin", "http://localhost:2"}}));
    EXPECT_FALSE(takes_origin(alone(), {{"Host", "localhost:1"},
                                        {"Origin", "http://localhost:1"},
                                        {"Sec-Fetch-Site", "same-site"}}));
    EXPECT_FALSE(takes_origin(behind_proxy(), {{"Origin", "http://jobs.example.com"}}));
}

TEST(Guard, believes_the_proxy_alone_who_sends)
{
    const auto forwarded = request({{"X-Forwarded-For", "1.1.1.1, 2.2.2.2"}});
    EXPECT_EQ(alone().sender(forwarded), "9.9.9.9");
    EXPECT_EQ(behind_proxy().sender(forwarded), "2.2.2.2");
    EXPECT_EQ(behind_proxy().sender(request({{"X-Forwarded-For", "2001:db8:1:2:3:4:5:6"}})),
              "2001:db8:1:2");
    EXPECT_EQ(behind_proxy().sender(request({{"X-Forwarded-For", "2001:db8::a:b:c:d"}})),
              behind_proxy().sender(request({{"X-Forwarded-For", "2001:db8::1"}})));
    EXPECT_EQ(behind_proxy().sender(request({{"X-Forwarded-For", "::ffff:1.2.3.4"}})), "1.2.3.4");
    for (const char *no_address : {"", "unknown", "1.1.1.1,", "1.2.3.4.5"})
        EXPECT_EQ(behind_proxy().sender(request({{"X-Forwarded-For", no_address}})), "9.9.9.9");
}

TEST(Guard, finds_its_cookie_among_others)
{
    EXPECT_EQ(alone().cookie_of(request({{"Cookie", "a=1; hipq-8484=x.y; b=2"}})), "x.y");
    EXPECT_EQ(alone().cookie_of(request({{"Cookie", "xhipq-8484=1; hipq-84842=2; "}})), "");
    EXPECT_EQ(alone().cookie_of(request({})), "");
}

}  // namespace

}  // namespace hipq::web
