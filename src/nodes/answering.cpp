// Remembers for which node a call is answered, so that it is not sent back to where it came from.
#include "nodes/answering.hpp"

namespace hipq::nodes {

constinit BeingAsked::State BeingAsked::state{Asker::nobody, {}, false};

BeingAsked::BeingAsked(Asker asker, std::string_view instance) : before_(state)
{
    state = {asker, instance, false};
}

BeingAsked::~BeingAsked()
{
    state = before_;
}

bool BeingAsked::is_missing() const
{
    return state.is_missing;
}

Asker asker()
{
    return BeingAsked::state.asker;
}

bool is_asked_about(std::string_view instance)
{
    return asker() == Asker::nobody || BeingAsked::state.instance == instance;
}

void note_missing()
{
    BeingAsked::state.is_missing = true;
}

}  // namespace hipq::nodes
