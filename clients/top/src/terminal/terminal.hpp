// The terminal, with ncurses: draws lines and reads keys.
#pragma once

#include "screens/sheet.hpp"

#include <stdexcept>
#include <string>

namespace hipq::top {

class TerminalError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class Terminal {
public:
    // Takes over the terminal; the destructor restores it. Throws TerminalError.
    Terminal();
    Terminal(const Terminal &) = delete;
    Terminal &operator=(const Terminal &) = delete;
    ~Terminal();

    int width() const;
    int height() const;

    void clear();
    // Text that does not fit is left out.
    void draw(int y, const Line &line, bool is_chosen = false);
    void show();
    void redraw();  // the whole screen

    // Waits for a key, at most this many milliseconds: a character, or one of keys::; 0: none.
    int key(int milliseconds);

private:
    bool has_colours_ = false;
    bool is_unicode_ = false;
};

}  // namespace hipq::top
