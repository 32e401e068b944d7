// Common to all screens: moving through lines, and tables that are sorted and filtered.
#include "screens/screen.hpp"

#include "screens/text.hpp"

namespace hipq::top {

Move open(std::shared_ptr<Screen> screen)
{
    Move move;
    move.kind = Move::Kind::open;
    move.screen = std::move(screen);
    return move;
}

Move act(Action action)
{
    Move move;
    move.kind = Move::Kind::act;
    move.action = std::move(action);
    return move;
}

Move prompt(std::string label, std::function<Move(const std::string &)> entered)
{
    Move move;
    move.kind = Move::Kind::prompt;
    move.text = std::move(label);
    move.entered = std::move(entered);
    return move;
}

Move say(std::string message)
{
    Move move;
    move.kind = Move::Kind::say;
    move.text = std::move(message);
    return move;
}

Line plain(std::string text, Tone tone)
{
    return {{std::move(text), tone}};
}

std::string bar(double done, double total, int columns)
{
    const int full =
        total > 0 ? static_cast<int>(columns * std::clamp(done / total, 0.0, 1.0)) : columns;
    std::string text;
    for (int i = 0; i < columns; ++i)
        text += i < full ? "█" : "░";
    return text;
}

bool Screen::go(int key, int height, int width)
{
    const int last = std::max(0, lines(width) - 1);
    switch (key) {
    case keys::up:
        --place_;
        break;
    case keys::down:
        ++place_;
        break;
    case keys::page_up:
        place_ -= height;
        break;
    case keys::page_down:
    case ' ':
        place_ += height;
        break;
    case keys::home:
        place_ = 0;
        break;
    case keys::end:
        place_ = last;
        break;
    default:
        return false;
    }
    place_ = std::clamp(place_, 0, last);
    return true;
}

// ---- tables

Page ListScreen::page(int width) const
{
    Page page;
    page.head = head(width);
    if (!complaint_.empty())
        for (const std::string &line : wrap(complaint_, width))
            page.head.push_back(plain(line, Tone::bad));
    if (!filter_.empty())
        page.head.push_back(
            plain("only with \"" + filter_ + "\" (/ and Enter: all)", Tone::warning));
    Sheet shown{sheet_.columns, shown_};
    const std::vector<int> columns = widths(shown, width);
    page.head.push_back(title_line(shown, columns, sorted_by_));
    for (const SheetRow &row : shown_)
        page.body.push_back(row_line(shown, row, columns));
    page.chosen = shown_.empty() ? -1 : std::min(place(), lines(width) - 1);
    return page;
}

Move ListScreen::key(int key)
{
    if (key == 's' && can_sort()) {
        const int columns = static_cast<int>(sheet_.columns.size());
        sort_by(sorted_by_ + 1 >= columns ? -1 : sorted_by_ + 1);
        return {};
    }
    if (key == 'S' && can_sort()) {
        const int columns = static_cast<int>(sheet_.columns.size());
        sort_by(sorted_by_ < 0 ? columns - 1 : sorted_by_ - 1);
        return {};
    }
    if (key == '/')
        return prompt("Only rows with: ", [this](const std::string &text) {
            filter_ = text;
            arrange();
            return Move{};
        });
    return row_key(key, chosen());
}

void ListScreen::show(Sheet sheet)
{
    // Until the user moves, the first row stays chosen, even if another job is first.
    const std::string before = place() == 0 ? "" : chosen();
    complaint_.clear();
    sheet_ = std::move(sheet);
    arrange();
    for (std::size_t i = 0; i < shown_.size(); ++i)
        if (!before.empty() && shown_[i].key == before)
            set_place(static_cast<int>(i));
}

void ListScreen::complain(const Answer &answer)
{
    complaint_ = answer.sqlstate == "42501"
                     ? "Your role may not read this: " + answer.error
                     : answer.error + (answer.hint.empty() ? "" : " (" + answer.hint + ")");
}

bool ListScreen::all_well(const std::vector<Answer> &answers)
{
    for (const Answer &answer : answers)
        if (!answer) {
            complain(answer);
            return false;
        }
    return !answers.empty();
}

std::string ListScreen::chosen() const
{
    const auto row = static_cast<std::size_t>(place());
    return row < shown_.size() ? shown_[row].key : shown_.empty() ? "" : shown_.back().key;
}

void ListScreen::sort_by(int column)
{
    sorted_by_ = column;
    arrange();
    set_place(0);
}

void ListScreen::arrange()
{
    shown_ = sheet_.rows;
    filter_rows(shown_, filter_);
    if (sorted_by_ >= 0 && sorted_by_ < static_cast<int>(sheet_.columns.size()))
        sort_rows(shown_, sorted_by_,
                  sheet_.columns[static_cast<std::size_t>(sorted_by_)].is_number);
    set_place(std::clamp(place(), 0, std::max(0, static_cast<int>(shown_.size()) - 1)));
}

}  // namespace hipq::top
