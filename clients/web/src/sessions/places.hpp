// A limited number of places, of which no holder gets more than a share.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace hipq::web {

// The holder of a place: a role, an address. An empty name has no limit of its own.
using Holders = std::vector<std::string>;

class Places {
public:
    Places(std::size_t most, std::size_t share) : most_(most), share_(share) {}

    // A place that is taken until this object is destroyed.
    using Place = std::shared_ptr<void>;

    // Takes a place. Null: there is none, or one of the holders has its share.
    Place take(const Holders &holders);

    bool is_full();

private:
    bool count(const Holders &holders);
    void give_back(const Holders &holders);

    std::size_t most_;
    std::size_t share_;
    std::mutex mutex_;
    std::size_t taken_ = 0;
    std::map<std::string, std::size_t> taken_by_;
};

}  // namespace hipq::web
