// The head of a request: its limits, refusals, and the part that cpp-httplib gets.
#include "http/head.hpp"
#include "http/problem.hpp"

#include <gtest/gtest.h>

namespace hipq::web {

namespace {

std::string head(const std::string &headers, const std::string &line = "POST / HTTP/1.1")
{
    return line + "\r\n" + headers + "\r\n";
}

// The status of the refusal; 0: there is none.
int refusal_of(const std::string &headers)
{
    try {
        read_head(head(headers));
        return 0;
    } catch (const Problem &problem) {
        return problem.status;
    }
}

TEST(Head, is_passed_on_with_the_length_of_its_body)
{
    const Head read = read_head(head("Host: a\r\ncontent-length:  12 \r\n"));
    EXPECT_EQ(read.text, head("Host: a\r\ncontent-length:  12 \r\n"));
    EXPECT_EQ(read.body_size, 12U);
    EXPECT_EQ(read_head(head("")).body_size, 0U);
}

TEST(Head, loses_what_need_not_be_heeded)
{
    EXPECT_EQ(read_head(head("Range: bytes=0-1\r\nA: b\r\nEXPECT: 100-continue\r\n")).text,
              head("A: b\r\n"));
}

TEST(Head, asks_for_gzip_alone)
{
    EXPECT_EQ(read_head(head("Accept-Encoding: br;q=1.0, GZip\r\nA: b\r\n")).text,
              head("A: b\r\nAccept-Encoding: gzip\r\n"));
    EXPECT_EQ(read_head(head("accept-encoding: br\r\nA: b\r\n")).text, head("A: b\r\n"));
}

// Each proxy appends one; a client may have written the part before.
TEST(Head, has_the_last_word_on_who_sends)
{
    EXPECT_EQ(
        read_head(head("X-Forwarded-For: 1.1.1.1\r\nA: b\r\nx-forwarded-for: 2.2.2.2\r\n")).text,
        head("A: b\r\nX-Forwarded-For: 2.2.2.2\r\n"));
}

TEST(Head, says_how_long_the_body_is_or_is_refused)
{
    EXPECT_EQ(refusal_of("Content-Length: 100000\r\n"), 0);
    EXPECT_EQ(refusal_of("Content-Length: 100001\r\n"), 413);
    EXPECT_EQ(refusal_of("Content-Length: 99999999999999999999999\r\n"), 413);
    for (const char *length : {"", "-1", "+1", "0x1", "1 2", "1,1"})
        EXPECT_EQ(refusal_of(std::string("Content-Length: ") + length + "\r\n"), 400) << length;
    EXPECT_EQ(refusal_of("Content-Length: 1\r\nContent-Length: 1\r\n"), 400);
    EXPECT_EQ(refusal_of("Transfer-Encoding: chunked\r\n"), 411);
    EXPECT_EQ(refusal_of("transfer-encoding: gzip, chunked\r\nContent-Length: 1\r\n"), 411);
}

TEST(Head, announces_no_body_that_has_to_be_unpacked)
{
    EXPECT_EQ(refusal_of("Content-Encoding: br\r\n"), 415);
    EXPECT_EQ(refusal_of("Content-Type: Multipart/form-data\r\n"), 415);
    EXPECT_EQ(refusal_of("Content-Type: application/json\r\n"), 0);
}

TEST(Head, is_made_of_headers)
{
    for (const char *line :
         {"nonsense", ": a", "a b: c", " a: b", "a: b\nc: d", "a: b\rc: d", "a\x7f: b"})
        EXPECT_EQ(refusal_of(std::string(line) + "\r\n"), 400) << line;
    EXPECT_EQ(refusal_of(std::string("a: \0b\r\n", 7)), 400);
    EXPECT_EQ(refusal_of("a:\r\nb: \t \r\nc: \xc3\xa4\r\n"), 0);
    EXPECT_EQ(refusal_of("Host: a\r\nhost: a\r\n"), 400);
}

TEST(Head, has_so_many_headers_at_most)
{
    std::string headers;
    for (int i = 0; i < 100; ++i)
        headers += "a: b\r\n";
    EXPECT_EQ(refusal_of(headers), 0);
    EXPECT_EQ(refusal_of(headers + "a: b\r\n"), 431);
}

TEST(Head, has_an_address_of_a_length_that_regular_expressions_bear)
{
    const std::string line = "GET /" + std::string(3986, 'a') + " HTTP/1.1";
    EXPECT_EQ(line.size(), 4000U);
    EXPECT_NO_THROW(read_head(head("", line)));
    EXPECT_THROW(read_head(head("", "x" + line)), Problem);
}

}  // namespace

}  // namespace hipq::web
