// A screen: what it asks the server, what it makes of the answers, and what its keys do. Pure but
// for the statements that it hands out: the terminal and the connection are others' business.
#pragma once

#include "model/rows.hpp"
#include "model/statements.hpp"
#include "screens/sheet.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace hipq::top {

// Keys that are no characters.
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

// What is changed on the server: asked for first, then done, then told.
struct Action {
    std::string question;  // what will happen
    Statement statement;
    std::function<std::string(const Rows &)> told;  // what has happened
    // Of many the statement does a slice, again and again: how many a slice has done, 0 when there
    // are no more; and how many there are.
    std::function<double(const Rows &)> done{};
    Statement total{};
};

class Screen;

// What follows from a key.
struct Move {
    enum class Kind { none, open, act, prompt, say } kind = Kind::none;
    std::shared_ptr<Screen> screen{};                    // open: to be shown, above this one
    Action action{};                                     // act
    std::string text{};                                  // prompt: its label; say: the message
    std::function<Move(const std::string &)> entered{};  // prompt: what was typed
};

Move open(std::shared_ptr<Screen> screen);
Move act(Action action);
Move prompt(std::string label, std::function<Move(const std::string &)> entered);
Move say(std::string message);

// What a screen shows: lines that stay, and lines to scroll through.
struct Page {
    std::vector<Line> head;
    std::vector<Line> body;
    int chosen = -1;  // line of the body; -1: none is, and arrows scroll
};

class Screen {
public:
    virtual ~Screen() = default;

    virtual std::string title() const = 0;
    virtual std::string help() const = 0;  // its keys, for the last line
    virtual std::vector<Statement> asks() const = 0;
    virtual void take(const std::vector<Answer> &answers) = 0;
    // It has learnt what it needs to ask on, and does so at once.
    virtual bool asks_on() const { return false; }
    virtual Page page(int width) const = 0;
    virtual Move key(int key) = 0;
    // Seconds between two looks, at least: for what costs more than the others.
    virtual double rests() const { return 0; }
    // How many lines there are to go through, and which one is chosen, or at the top.
    virtual int lines(int width) const = 0;

    // Goes to a line by the keys that all screens have; false: it is none of them.
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
    // Sorts (s), filters (/), and passes on the rest.
    Move key(int key) override;

protected:
    virtual Move row_key(int key, const std::string &row) = 0;
    // Lines above the table.
    virtual std::vector<Line> head(int width) const = 0;

    // The rows are new: orders them, and finds the chosen one again.
    void show(Sheet sheet);
    void complain(const Answer &answer);
    // The first complaint of some answers.
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
    int sorted_by_ = -1;  // as the server gave them
};

Line plain(std::string text, Tone tone = Tone::plain);
// A bar of so many columns for what is done of a total.
std::string bar(double done, double total, int columns);

}  // namespace hipq::top
