// A screen: its queries, what it makes of the answers, and what its keys do. Pure except for the
// statements that it returns: it uses neither terminal nor connection.
#pragma once

#include "model/rows.hpp"
#include "model/statements.hpp"
#include "screens/sheet.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace hipq::top {

// Keys that are not characters.
namespace keys {
inline constexpr int enter = 0x110000;  // beyond Unicode
inline constexpr int escape = enter + 1;
inline constexpr int up = enter + 2;
inline constexpr int down = enter + 3;
inline constexpr int page_up = enter + 4;
inline constexpr int page_down = enter + 5;
inline constexpr int home = enter + 6;
inline constexpr int end = enter + 7;
inline constexpr int left = enter + 8;
inline constexpr int right = enter + 9;
inline constexpr int backspace = enter + 10;
inline constexpr int tab = enter + 11;
inline constexpr int resized = enter + 12;
}  // namespace keys

// A change on the server: a question first, then the action, then a message.
struct Action {
    std::string question;  // what will happen
    Statement statement;
    std::function<std::string(const Rows &)> told;  // the result
    // For many rows the statement is repeated, a slice at a time: returns the number of rows done,
    // 0 at the end; and the total.
    std::function<double(const Rows &)> done{};
    Statement total{};
};

class Screen;

// The effect of a key.
struct Move {
    enum class Kind { none, open, act, prompt, say } kind = Kind::none;
    std::shared_ptr<Screen> screen{};                    // open: the new top screen
    Action action{};                                     // act
    std::string text{};                                  // prompt: its label; say: the message
    std::function<Move(const std::string &)> entered{};  // prompt: the typed text
};

Move open(std::shared_ptr<Screen> screen);
Move act(Action action);
Move prompt(std::string label, std::function<Move(const std::string &)> entered);
Move say(std::string message);

// The display of a screen: lines that stay, and lines to scroll through.
struct Page {
    std::vector<Line> head;
    std::vector<Line> body;
    int chosen = -1;  // line of the body; -1: none, and arrows scroll
};

class Screen {
public:
    virtual ~Screen() = default;

    virtual std::string title() const = 0;
    virtual std::string help() const = 0;  // its keys, for the last line
    virtual std::vector<Statement> asks() const = 0;
    virtual void take(const std::vector<Answer> &answers) = 0;
    // It knows its next query now, and runs it at once.
    virtual bool asks_on() const { return false; }
    virtual Page page(int width) const = 0;
    virtual Move key(int key) = 0;
    // The minimum seconds between two refreshes: for expensive screens.
    virtual double rests() const { return 0; }
    // The number of lines to move through, and the one that is selected, or at the top.
    virtual int lines(int width) const = 0;

    // Moves with the keys that all screens have; false: it is another key.
    bool go(int key, int height, int width);
    int place() const { return place_; }
    void set_place(int place) { place_ = place; }

private:
    int place_ = 0;
};

// A screen that is a table.
class ListScreen : public Screen {
public:
    Page page(int width) const override;
    int lines(int) const override { return static_cast<int>(shown_.size()); }
    // Sorts (s), filters (/), and passes other keys on.
    Move key(int key) override;

protected:
    virtual Move row_key(int key, const std::string &row) = 0;
    // Lines above the table.
    virtual std::vector<Line> head(int width) const = 0;

    // The rows are new: sorts them, and finds the selected row again.
    void show(Sheet sheet);
    void complain(const Answer &answer);
    // The first error of several answers.
    bool all_well(const std::vector<Answer> &answers);
    std::string chosen() const;  // its key; empty: there is no row
    void sort_by(int column);
    int sorted_by() const { return sorted_by_; }
    virtual bool can_sort() const { return true; }

private:
    void arrange();

    Sheet sheet_;
    std::vector<SheetRow> shown_;
    std::string filter_;
    std::string complaint_;
    int sorted_by_ = -1;  // as the server returned them
};

Line plain(std::string text, Tone tone = Tone::plain);
// A progress bar with this many columns.
std::string bar(double done, double total, int columns);

}  // namespace hipq::top
