// The key that only one unfinished job of a queue may have.
#pragma once

#include <string_view>

namespace hipq::core {

// Points into the strings that it was made from.
struct UniqueKey {
    std::string_view type;
    std::string_view key;
    std::string_view scope;  // key_scope() of the job (core/shards/route.hpp)
};

}  // namespace hipq::core
