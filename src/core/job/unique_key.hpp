// What one unfinished job of a queue may have, and no second one.
#pragma once

#include <string_view>

namespace hipq::core {

// It points into what it was made of.
struct UniqueKey {
    std::string_view type;
    std::string_view key;
    std::string_view scope;  // key_scope() of the job (core/shards/route.hpp)
};

}  // namespace hipq::core
