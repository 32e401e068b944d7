// The first screen as text, for pipes and for --once.
#include "app/print.hpp"

#include <cstdio>

namespace hipq::top {

namespace {

// Wider than any table, so that nothing is cut.
constexpr int print_width = 100'000;

std::string text_of(const std::vector<Line> &lines)
{
    std::string text;
    for (const Line &line : lines) {
        std::string row;
        for (const Span &span : line)
            row += span.text;
        row.erase(row.find_last_not_of(' ') + 1);
        text += row + "\n";
    }
    return text;
}

}  // namespace

std::string text_of(const Page &page)
{
    return text_of(page.head) + text_of(page.body);
}

Answer print_queues(Database &database, const Mode &mode)
{
    const std::shared_ptr<Screen> screen = queues_screen(mode);
    Answer answer = database.ask(screen->asks().front());
    if (!answer)
        return answer;
    screen->take({answer});
    std::fputs(text_of(screen->page(print_width)).c_str(), stdout);
    std::fflush(stdout);
    return answer;
}

}  // namespace hipq::top
