// The terminal, with ncurses: draws lines and reads keys.
#include "terminal/terminal.hpp"

#include "screens/screen.hpp"
#include "screens/text.hpp"

#define NCURSES_WIDECHAR 1
#include <curses.h>

#include <clocale>
#include <cstdlib>
#include <langinfo.h>

namespace hipq::top {

namespace {

enum Pair : short { pair_good = 1, pair_warning, pair_bad, pair_title };

bool wants_colours()
{
    const char *no_colour = std::getenv("NO_COLOR");
    return no_colour == nullptr || *no_colour == '\0';
}

// Without colours, bad values are bold, and good ones plain.
attr_t attributes(Tone tone, bool has_colours)
{
    const auto coloured = [&](short pair, attr_t without) {
        return has_colours ? static_cast<attr_t>(COLOR_PAIR(pair)) : without;
    };
    switch (tone) {
    case Tone::plain:
        return A_NORMAL;
    case Tone::dim:
        return A_DIM;
    case Tone::strong:
        return A_BOLD | A_UNDERLINE;
    case Tone::title:
        return coloured(pair_title, A_UNDERLINE);
    case Tone::good:
        return coloured(pair_good, A_NORMAL);
    case Tone::warning:
        return coloured(pair_warning, A_BOLD);
    case Tone::bad:
        return coloured(pair_bad, A_BOLD) | A_BOLD;
    case Tone::chosen:
        return A_REVERSE;
    }
    return A_NORMAL;
}

// For a terminal that supports only ASCII.
std::string ascii(const std::string &text)
{
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (byte < 0x80)
            result += text[i];
        else if (byte >= 0xC0)
            result += text.compare(i, 3, "…") == 0   ? '~'
                      : text.compare(i, 3, "█") == 0 ? '#'
                      : text.compare(i, 3, "░") == 0 ? '.'
                                                     : '?';
    }
    return result;
}

int function_key(wint_t key)
{
    switch (key) {
    case KEY_UP:
        return keys::up;
    case KEY_DOWN:
        return keys::down;
    case KEY_LEFT:
        return keys::left;
    case KEY_RIGHT:
        return keys::right;
    case KEY_PPAGE:
        return keys::page_up;
    case KEY_NPAGE:
        return keys::page_down;
    case KEY_HOME:
        return keys::home;
    case KEY_END:
        return keys::end;
    case KEY_BACKSPACE:
        return keys::backspace;
    case KEY_ENTER:
        return keys::enter;
    case KEY_RESIZE:
        return keys::resized;
    default:
        return 0;
    }
}

int character_key(wint_t key)
{
    switch (key) {
    case L'\n':
    case L'\r':
        return keys::enter;
    case L'\t':
        return keys::tab;
    case 27:
        return keys::escape;
    case 8:
    case 127:
        return keys::backspace;
    default:
        return static_cast<int>(key);
    }
}

}  // namespace

Terminal::Terminal()
{
    const char *name = std::getenv("TERM");
    if (::newterm(nullptr, stdout, stdin) == nullptr)
        throw TerminalError("the terminal \"" + std::string(name == nullptr ? "" : name) +
                            "\" is not known: set TERM, or use --once");
    is_unicode_ = std::string(::nl_langinfo(CODESET)) == "UTF-8";
    ::cbreak();
    ::noecho();
    ::nonl();
    ::keypad(stdscr, TRUE);
    ::set_escdelay(25);
    ::curs_set(0);
    has_colours_ = wants_colours() && ::has_colors();
    if (!has_colours_)
        return;
    ::start_color();
    ::use_default_colors();
    ::init_pair(pair_good, COLOR_GREEN, -1);
    ::init_pair(pair_warning, COLOR_YELLOW, -1);
    ::init_pair(pair_bad, COLOR_RED, -1);
    ::init_pair(pair_title, COLOR_CYAN, -1);
}

Terminal::~Terminal()
{
    ::endwin();
}

int Terminal::width() const
{
    return getmaxx(stdscr);
}

int Terminal::height() const
{
    return getmaxy(stdscr);
}

void Terminal::clear()
{
    ::erase();
}

void Terminal::draw(int y, const Line &line, bool is_chosen)
{
    if (y < 0 || y >= height())
        return;
    int x = 0;
    for (const Span &span : line) {
        const std::string text = cut(span.text, width() - x);
        if (text.empty())
            continue;
        const attr_t attribute =
            is_chosen ? static_cast<attr_t>(A_REVERSE) : attributes(span.tone, has_colours_);
        ::attrset(static_cast<int>(attribute));
        const std::string shown = is_unicode_ ? text : ascii(text);
        mvaddstr(y, x, shown.c_str());
        x += width_of(text);
    }
    if (is_chosen && x < width()) {
        ::attrset(static_cast<int>(A_REVERSE));
        mvaddstr(y, x, std::string(static_cast<std::size_t>(width() - x), ' ').c_str());
    }
    ::attrset(A_NORMAL);
}

void Terminal::show()
{
    ::refresh();
}

void Terminal::redraw()
{
    ::clearok(stdscr, TRUE);
}

int Terminal::key(int milliseconds)
{
    ::timeout(milliseconds);
    wint_t key = 0;
    const int kind = ::get_wch(&key);
    if (kind == KEY_CODE_YES)
        return function_key(key);
    return kind == OK ? character_key(key) : 0;
}

}  // namespace hipq::top
