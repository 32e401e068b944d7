#include "core/text/conninfo.hpp"

#include <gtest/gtest.h>

namespace hipq::core {
namespace {

TEST(Conninfo, FindsPasswordsInEveryFormOfLibpq)
{
    for (const char *text :
         {"password=x", "host=a password=x", "host = a  password = x", "host='a b' password='x'",
          "host=a\\ b\tsslpassword=x", "user=u oauth_client_secret=x dbname=d",
          "password=", "postgresql://u:x@a/d", "postgres://u:x@a,b:5433/d?sslmode=require",
          "postgresql://a/d?password=x", "postgresql://a/d?user=u&sslpassword=x"})
        EXPECT_TRUE(has_password(text)) << text;
}

TEST(Conninfo, FindsNoneElsewhere)
{
    for (const char *text :
         {"", "host=a dbname=d user=u", "host='password=x' dbname=d", "host=a passfile=/p",
          "dbname='it\\'s password=x'", "host=a,b port=1,2 target_session_attrs=read-write",
          "application_name=password", "postgresql://u@a:5432/d",
          "postgresql://a:5432/d?user=u:x@y", "postgresql:///d?host=/tmp&passfile=/p", "host"})
        EXPECT_FALSE(has_password(text)) << text;
}

}  // namespace
}  // namespace hipq::core
