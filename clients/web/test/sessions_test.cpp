// Sessions: how they end, how many there are, and the signatures of their cookies.
#include "sessions/places.hpp"
#include "sessions/secret.hpp"
#include "sessions/session.hpp"

#include <gtest/gtest.h>

namespace hipq::web {

namespace {

Options limits(int most, bool is_service = false)
{
    Options options;
    options.idle = std::chrono::minutes(30);
    options.lifetime = std::chrono::hours(12);
    options.max_sessions = most;
    options.is_service = is_service;
    return options;
}

std::shared_ptr<Session> start(Sessions &sessions, Holders holders = {})
{
    return sessions.start({"ann", false, ""}, std::make_shared<Link>(std::unique_ptr<Connection>()),
                          std::move(holders));
}

TEST(Sessions, end_when_not_used)
{
    Sessions sessions(limits(5));
    const auto session = start(sessions);
    EXPECT_FALSE(sessions.ending(*session, session->started + std::chrono::minutes(29)));
    EXPECT_TRUE(sessions.ending(*session, session->started + std::chrono::minutes(30)));
}

TEST(Sessions, end_after_their_lifetime_however_they_are_used)
{
    Sessions sessions(limits(5));
    const auto session = start(sessions);
    session->used = session->started + std::chrono::hours(12);
    EXPECT_TRUE(sessions.ending(*session, session->started + std::chrono::hours(12)));
}

TEST(Sessions, of_the_service_need_not_be_used)
{
    Sessions sessions(limits(5, true));
    const auto session = start(sessions);
    EXPECT_FALSE(sessions.ending(*session, session->started + std::chrono::hours(11)));
    EXPECT_TRUE(sessions.ending(*session, session->started + std::chrono::hours(12)));
}

TEST(Sessions, are_found_by_their_ids_until_they_end)
{
    Sessions sessions(limits(5));
    const auto session = start(sessions);
    EXPECT_EQ(sessions.find(session->id), session);
    EXPECT_EQ(sessions.find("another"), nullptr);
    sessions.end(session);
    EXPECT_EQ(sessions.find(session->id), nullptr);
}

TEST(Sessions, are_so_many_at_most)
{
    Sessions sessions(limits(1));
    const auto session = start(sessions);
    EXPECT_TRUE(sessions.is_full());
    EXPECT_EQ(start(sessions), nullptr);
    sessions.end(session);
    EXPECT_NE(start(sessions), nullptr);
}

TEST(Sessions, are_shared)
{
    Sessions sessions(limits(5));
    for (int i = 0; i < 3; ++i)
        EXPECT_NE(start(sessions, {"role ann", ""}), nullptr);
    EXPECT_EQ(start(sessions, {"role ann", ""}), nullptr);
    EXPECT_FALSE(sessions.is_full());
    EXPECT_NE(start(sessions, {"role bob", ""}), nullptr);
}

TEST(Sessions, of_the_service_make_room_among_those_of_the_same_address)
{
    Sessions sessions(limits(5, true));
    const auto other = start(sessions, {"", "from 1.1.1.1"});
    const auto first = start(sessions, {"", "from 2.2.2.2"});
    for (int i = 1; i < 5'000; ++i)
        start(sessions, {"", "from 2.2.2.2"});
    EXPECT_FALSE(first->is_ended);
    EXPECT_NE(start(sessions, {"", "from 2.2.2.2"}), nullptr);
    EXPECT_TRUE(first->is_ended);
    EXPECT_FALSE(other->is_ended);
}

TEST(Sessions, of_the_service_make_room)
{
    Sessions sessions(limits(5, true));
    const auto first = start(sessions);
    const auto later = first->used.load() + std::chrono::minutes(1);
    first->used = later;
    const auto second = start(sessions);
    for (int i = 2; i < 10'000; ++i)
        start(sessions)->used = later;
    EXPECT_NE(start(sessions), nullptr);
    EXPECT_TRUE(second->is_ended);
    EXPECT_FALSE(first->is_ended);
}

TEST(Places, are_so_many_and_nobody_gets_more_than_a_share)
{
    Places places(3, 2);
    const Places::Place first = places.take({"ann", "here"});
    Places::Place second = places.take({"ann", "there"});
    EXPECT_NE(second, nullptr);
    EXPECT_EQ(places.take({"ann", "elsewhere"}), nullptr);
    const Places::Place third = places.take({"bob", "here"});
    EXPECT_TRUE(places.is_full());
    EXPECT_EQ(places.take({"eve", "elsewhere"}), nullptr);
    second.reset();
    EXPECT_EQ(places.take({"eve", "here"}), nullptr);
    EXPECT_NE(places.take({"eve", "elsewhere"}), nullptr);
}

TEST(Places, have_holders_without_a_share)
{
    Places places(3, 1);
    const Places::Place first = places.take({"", ""});
    const Places::Place second = places.take({"", ""});
    EXPECT_NE(second, nullptr);
    EXPECT_NE(places.take({}), nullptr);
}

TEST(Signer, knows_what_it_has_signed)
{
    const Signer signer;
    const std::string cookie = signer.sign("id");
    EXPECT_EQ(signer.verify(cookie), "id");
    EXPECT_EQ(signer.verify("di" + cookie.substr(2)), "");
    EXPECT_EQ(signer.verify(cookie.substr(0, cookie.size() - 1)), "");
    EXPECT_EQ(signer.verify(cookie + "0"), "");
    EXPECT_EQ(signer.verify("id"), "");
    EXPECT_EQ(signer.verify(""), "");
    EXPECT_EQ(Signer().verify(cookie), "");
}

TEST(Secret, is_never_the_same)
{
    EXPECT_EQ(random_token().size(), 64U);
    EXPECT_NE(random_token(), random_token());
    EXPECT_TRUE(same_secret("abc", "abc"));
    EXPECT_FALSE(same_secret("abc", "abd"));
    EXPECT_FALSE(same_secret("abc", "ab"));
}

}  // namespace

}  // namespace hipq::web
