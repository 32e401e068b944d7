// Tracks whether this process answers another node, and whether it has found what that node asked
// for.
#pragma once

#include <string>
#include <string_view>

namespace hipq::nodes {

enum class Asker : unsigned char {
    nobody,  // a call by a client
    router,  // the router, which asks other nodes itself
    shard,   // a shard, which knows only this router
};

// While an object of this class exists, calls are made on behalf of that node.
class BeingAsked {
public:
    BeingAsked(Asker asker, std::string_view instance);
    ~BeingAsked();
    BeingAsked(const BeingAsked &) = delete;
    BeingAsked &operator=(const BeingAsked &) = delete;

    // Whether nothing was found for that node.
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
// Whether the call concerns that instance; always true for a client's call.
bool is_asked_about(std::string_view instance);
// Notes that the job was found neither here nor on the nodes that this node has asked.
void note_missing();

}  // namespace hipq::nodes
