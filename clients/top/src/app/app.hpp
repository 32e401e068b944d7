// The terminal program: shows the top screen, refreshes it, and handles keys.
#pragma once

#include "model/database.hpp"
#include "screens/screens.hpp"
#include "terminal/terminal.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace hipq::top {

class App {
public:
    App(Database &database, Terminal &terminal, const Mode &mode,
        std::chrono::duration<double> delay);

    // Runs until q, or a signal (stop_requested()).
    void run();

private:
    using Clock = std::chrono::steady_clock;
    struct Input {
        std::string label;
        std::string text;
        std::function<Move(const std::string &)> entered;
    };

    // An action that runs in slices.
    struct Course {
        Action action;
        double total = 0;
        double done = 0;
    };

    void look();
    std::vector<Answer> ask_all(const std::vector<Statement> &statements);
    void note(const Answer &answer);

    void draw();
    Line top_line() const;
    void draw_foot(int height);
    void draw_body(const Page &page, int from, int height);
    int body_height() const;

    int wait_time() const;
    void press(int key);
    void press_confirming(int key);
    void press_typing(int key);
    void follow(Move move);
    void back();
    void do_it(const Action &action);
    void begin(const Action &action);
    void go_on();
    void tell(const std::string &message, Tone tone);
    Screen &screen() { return *screens_.back(); }

    Database &database_;
    Terminal &terminal_;
    Mode mode_;
    Clock::duration delay_;
    std::vector<std::shared_ptr<Screen>> screens_;
    std::shared_ptr<Action> confirming_;
    std::shared_ptr<Input> typing_;
    std::shared_ptr<Course> course_;
    std::string message_;
    Tone message_tone_ = Tone::plain;
    std::string lost_;  // why there is no connection; empty: there is one
    bool stands_still_ = false;
    bool is_over_ = false;
    int top_ = 0;  // first visible line of the body
    Clock::time_point next_look_{};
};

// Signals set this, so that the program restores the terminal.
void catch_signals();
bool stop_requested();

}  // namespace hipq::top
