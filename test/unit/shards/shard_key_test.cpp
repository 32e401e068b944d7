// Valid shard keys of queues.
#include "core/shards/shard_key.hpp"

#include <gtest/gtest.h>

namespace hipq::core {

namespace {

std::vector<std::string> path_of(std::string_view text)
{
    const auto key = parse_shard_key(text);
    return key.has_value() ? key->path : std::vector<std::string>();
}

TEST(ShardKey, ColumnsThatAreGivenToAJob)
{
    EXPECT_EQ(parse_shard_key("shard_key")->column, Column::shard_key);
    EXPECT_EQ(parse_shard_key("job_key")->column, Column::job_key);
    EXPECT_EQ(parse_shard_key("throttle_key")->column, Column::throttle_key);
    EXPECT_EQ(parse_shard_key("job_type")->column, Column::job_type);
    EXPECT_FALSE(parse_shard_key("id").has_value());
    EXPECT_FALSE(parse_shard_key("priority").has_value());
}

TEST(ShardKey, PathsIntoJobData)
{
    using Path = std::vector<std::string>;
    EXPECT_EQ(path_of("job_data->>'tenant'"), Path{"tenant"});
    EXPECT_EQ(path_of(" job_data  ->>  'tenant' "), Path{"tenant"});
    EXPECT_EQ(path_of("job_data->'customer'->>'id'"), (Path{"customer", "id"}));
    EXPECT_EQ(path_of("job_data #>> '{customer,id}'"), (Path{"customer", "id"}));
    EXPECT_EQ(path_of("job_data->>'it''s'"), Path{"it's"});
    EXPECT_EQ(path_of("job_data->>''"), Path{""});
}

TEST(ShardKey, NothingElse)
{
    for (const char *text :
         {"", "job_data", "job_data->'tenant'", "job_data->>tenant", "job_data->>'tenant", "NONE",
          "job_data->>'a'->>'b'", "job_data->>'a' || 'b'", "lower(job_data->>'a')",
          "job_data#>>'{}'", "job_data#>>'{a,,b}'", "job_data#>>'a'", "job_data#>>'{\"a b\"}'",
          "job_data->>'a'; DROP"})
        EXPECT_FALSE(parse_shard_key(text).has_value()) << text;
}

}  // namespace

}  // namespace hipq::core
