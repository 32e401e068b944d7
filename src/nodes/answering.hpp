// Whether this process answers another node, and whether it has what it was asked for.
#pragma once

#include <string>
#include <string_view>

namespace hipq::nodes {

enum class Asker : unsigned char {
    nobody,  // a client's own call
    router,  // which asks others itself
    shard,   // which knows this router alone
};

// While one lives, calls are those of that node.
class BeingAsked {
public:
    BeingAsked(Asker asker, std::string_view instance);
    ~BeingAsked();
    BeingAsked(const BeingAsked &) = delete;
    BeingAsked &operator=(const BeingAsked &) = delete;

    // Whether there was nothing to be found for it.
    bool is_missing() const;

private:
    struct State {
        Asker asker;
        std::string_view instance;
        bool is_missing;
    };
    friend Asker asker();
    friend bool is_asked_about(std::string_view instance);
    friend void note_missing();
    static constinit State state;
    State before_;
};

Asker asker();
// Of that instance, or by nobody.
bool is_asked_about(std::string_view instance);
// Neither here nor elsewhere, as far as this node asks on.
void note_missing();

}  // namespace hipq::nodes
