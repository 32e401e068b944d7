// The terminal program: shows the top screen, refreshes it, and handles keys.
#include "app/app.hpp"

#include "screens/text.hpp"

#include <algorithm>
#include <csignal>
#include <ctime>

namespace hipq::top {

namespace {

volatile std::sig_atomic_t stop = 0;

constexpr int least_width = 40;
constexpr int least_height = 8;
// The program answers a key within this many milliseconds, however far away the next refresh is.
constexpr int longest_wait = 500;

std::string clock_text()
{
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::localtime_r(&now, &parts);
    char text[16];
    std::strftime(text, sizeof text, "%H:%M:%S", &parts);
    return text;
}

// The UTF-8 form of a typed character.
std::string utf8(int key)
{
    const auto code = static_cast<unsigned>(key);
    const auto part = [&](unsigned shift, unsigned bits, unsigned mark) {
        return static_cast<char>(((code >> shift) & bits) | mark);
    };
    if (code < 0x80)
        return {static_cast<char>(code)};
    if (code < 0x800)
        return {part(6, 0x1F, 0xC0), part(0, 0x3F, 0x80)};
    if (code < 0x10000)
        return {part(12, 0x0F, 0xE0), part(6, 0x3F, 0x80), part(0, 0x3F, 0x80)};
    return {part(18, 0x07, 0xF0), part(12, 0x3F, 0x80), part(6, 0x3F, 0x80), part(0, 0x3F, 0x80)};
}

void remove_last_character(std::string &text)
{
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U)
        text.pop_back();
    if (!text.empty())
        text.pop_back();
}

}  // namespace

void catch_signals()
{
    struct sigaction action {};
    action.sa_handler = [](int) { stop = 1; };
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        ::sigaction(signal, &action, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
}

bool stop_requested()
{
    return stop != 0;
}

App::App(Database &database, Terminal &terminal, const Mode &mode,
         std::chrono::duration<double> delay)
    : database_(database), terminal_(terminal), mode_(mode),
      delay_(std::chrono::duration_cast<Clock::duration>(delay)), screens_{queues_screen(mode)}
{
}

void App::run()
{
    while (!is_over_ && !stop_requested()) {
        const bool is_asked_for = next_look_ == Clock::time_point{};
        if (is_asked_for || (!stands_still_ && Clock::now() >= next_look_))
            look();
        if (course_ != nullptr)
            go_on();
        draw();
        if (const int key = terminal_.key(wait_time()); key != 0)
            press(key);
    }
}

// ---- refreshing

// A screen may query at most three times in a row, as each answer shows what to query next: for a
// queue, its table, and a job.
void App::look()
{
    for (int i = 0; i < 3; ++i) {
        const std::vector<Statement> statements = screen().asks();
        const std::vector<Answer> answers = ask_all(statements);
        if (!statements.empty() && answers.size() == statements.size())
            screen().take(answers);
        if (!lost_.empty() || !screen().asks_on())
            break;
    }
    const std::chrono::duration<double> rest(screen().rests());
    next_look_ = Clock::now() + std::max(delay_, std::chrono::duration_cast<Clock::duration>(rest));
}

// Fewer answers than statements: the connection is lost.
std::vector<Answer> App::ask_all(const std::vector<Statement> &statements)
{
    std::vector<Answer> answers;
    for (const Statement &statement : statements) {
        Answer answer = database_.ask(statement);
        note(answer);
        if (answer.is_lost)
            break;
        answers.push_back(std::move(answer));
    }
    return answers;
}

void App::note(const Answer &answer)
{
    if (!answer.is_lost && !lost_.empty())
        tell("connected again", Tone::good);
    lost_ = answer.is_lost ? answer.error : "";
}

// ---- drawing

Line App::top_line() const
{
    Line line{{"hipq-top  ", Tone::strong}};
    std::string path;
    for (const auto &screen : screens_)
        path += (path.empty() ? "" : " > ") + screen->title();
    line.push_back({path + "   "});
    line.push_back({clock_text() + (stands_still_ ? "  STANDS STILL (z)" : "") +
                        (mode_.is_read_only ? "  read-only" : "") + "  " + database_.where(),
                    Tone::dim});
    return line;
}

int App::body_height() const
{
    return std::max(1, terminal_.height() - 6);
}

void App::draw()
{
    terminal_.clear();
    const int width = terminal_.width();
    const int height = terminal_.height();
    if (width < least_width || height < least_height) {
        terminal_.draw(0, plain("The terminal is too small.", Tone::warning));
        terminal_.show();
        return;
    }
    int y = 0;
    terminal_.draw(y++, top_line());
    if (!lost_.empty())
        for (const std::string &text : wrap("No connection, trying again: " + lost_, width))
            if (y < height - 3)
                terminal_.draw(y++, plain(text, Tone::bad));
    const Page page = screen().page(width);
    for (const Line &line : page.head)
        if (y < height - 3)
            terminal_.draw(y++, line);
    draw_body(page, y, height - 2 - y);
    draw_foot(height);
    terminal_.show();
}

void App::draw_body(const Page &page, int from, int height)
{
    const int lines = static_cast<int>(page.body.size());
    const bool is_list = page.chosen >= 0;
    if (!is_list)
        top_ = screen().place();
    else if (page.chosen < top_)
        top_ = page.chosen;
    else if (page.chosen >= top_ + height)
        top_ = page.chosen - height + 1;
    top_ = std::clamp(top_, 0, std::max(0, lines - height));
    if (!is_list)
        screen().set_place(top_);
    for (int i = 0; i < height && top_ + i < lines; ++i)
        terminal_.draw(from + i,
                       page.body[static_cast<std::size_t>(top_) + static_cast<std::size_t>(i)],
                       is_list && top_ + i == page.chosen);
}

void App::draw_foot(int height)
{
    const int width = terminal_.width();
    if (confirming_ != nullptr) {
        const auto lines = wrap(confirming_->question + "  y: yes  n: no", width);
        const int count = static_cast<int>(lines.size());
        for (int i = 0; i < count; ++i)
            terminal_.draw(height - count + i,
                           plain(fit(lines[static_cast<std::size_t>(i)], width), Tone::warning));
        return;
    }
    if (!message_.empty())
        terminal_.draw(height - 2, plain(message_, message_tone_));
    if (typing_ != nullptr)
        terminal_.draw(height - 1, {{typing_->label, Tone::strong}, {typing_->text + "_"}});
    else
        terminal_.draw(height - 1, plain(screen().help(), Tone::dim));
}

// ---- keys

int App::wait_time() const
{
    if (course_ != nullptr)
        return 0;
    if (stands_still_)
        return longest_wait;
    const auto rest =
        std::chrono::duration_cast<std::chrono::milliseconds>(next_look_ - Clock::now());
    return static_cast<int>(std::clamp<long long>(rest.count(), 0, longest_wait));
}

void App::press(int key)
{
    if (key == keys::resized)
        return;
    if (course_ != nullptr) {
        tell("stopped: " + count_text(course_->done) + " are done", Tone::warning);
        course_ = nullptr;
        return;
    }
    if (confirming_ != nullptr)
        return press_confirming(key);
    if (typing_ != nullptr)
        return press_typing(key);
    message_.clear();
    switch (key) {
    case 'q':
    case keys::escape:
    case keys::backspace:
        if (screens_.size() == 1)
            is_over_ = key == 'q';
        else
            back();
        return;
    case '?':
        return follow(open(help_screen()));
    case 'z':
        stands_still_ = !stands_still_;
        next_look_ = {};
        return;
    case 12:  // Ctrl-L
        return terminal_.redraw();
    default:
        break;
    }
    if (!screen().go(key, body_height(), terminal_.width()))
        follow(screen().key(key));
}

void App::press_confirming(int key)
{
    const auto action = std::exchange(confirming_, nullptr);
    if (key == 'y' || key == 'Y')
        action->done ? begin(*action) : do_it(*action);
    else
        tell("nothing is done", Tone::dim);
}

void App::press_typing(int key)
{
    if (key == keys::enter) {
        const auto input = std::exchange(typing_, nullptr);
        follow(input->entered(input->text));
    } else if (key == keys::escape) {
        typing_ = nullptr;
    } else if (key == keys::backspace) {
        remove_last_character(typing_->text);
    } else if (key >= ' ' && key < keys::enter) {
        typing_->text += utf8(key);
    }
}

void App::follow(Move move)
{
    switch (move.kind) {
    case Move::Kind::none:
        break;
    case Move::Kind::open:
        screens_.push_back(std::move(move.screen));
        top_ = 0;
        break;
    case Move::Kind::act:
        confirming_ = std::make_shared<Action>(std::move(move.action));
        return;
    case Move::Kind::prompt:
        typing_ = std::make_shared<Input>(Input{move.text, "", std::move(move.entered)});
        return;
    case Move::Kind::say:
        return tell(move.text, Tone::warning);
    }
    next_look_ = {};  // it may have other queries now
}

void App::back()
{
    screens_.pop_back();
    top_ = 0;
    next_look_ = {};
}

// A message stays until the next key.
void App::do_it(const Action &action)
{
    const Answer answer = database_.ask(action.statement);
    note(answer);
    if (answer)
        tell(action.told(answer.rows), Tone::good);
    else
        tell("not done: " + answer.error + (answer.hint.empty() ? "" : " (" + answer.hint + ")"),
             Tone::bad);
    next_look_ = {};
}

// ---- actions in slices

void App::begin(const Action &action)
{
    const Answer total = database_.ask(action.total);
    note(total);
    course_ = std::make_shared<Course>(Course{action, total.rows.number(0, "letters")});
}

void App::go_on()
{
    const Answer answer = database_.ask(course_->action.statement);
    note(answer);
    next_look_ = {};
    const double done = answer ? course_->action.done(answer.rows) : 0;
    course_->done += done;
    const std::string so_far = count_text(course_->done) + " are done";
    if (done > 0)
        return tell(bar(course_->done, course_->total, terminal_.width() / 3) + " " +
                        count_text(course_->done) + " of " + count_text(course_->total) +
                        "; any key stops it",
                    Tone::good);
    if (answer)
        tell(so_far + "; " + course_->action.told(answer.rows), Tone::good);
    else
        tell(so_far + "; not done: " + answer.error, Tone::bad);
    course_ = nullptr;
}

void App::tell(const std::string &message, Tone tone)
{
    message_ = one_line(message);
    message_tone_ = tone;
}

}  // namespace hipq::top
