// Screens: their pages, the effects of keys, and the questions before changes.
#include "screens/screens.hpp"

#include <gtest/gtest.h>

namespace hipq::top {

namespace {

std::string text_of(const std::vector<Line> &lines)
{
    std::string text;
    for (const Line &line : lines) {
        for (const Span &span : line)
            text += span.text;
        text += "\n";
    }
    return text;
}

std::string text_of(const Screen &screen, int width = 120)
{
    const Page page = screen.page(width);
    return text_of(page.head) + text_of(page.body);
}

Answer queues()
{
    return {
        {{"queue", "backlog", "exact", "running", "per_min", "failed", "p50", "p99", "oldest",
          "state"},
         {{"busy 1/4", "12", "f", "1", "3.5", "2", std::nullopt, std::nullopt, "61", "2 queues"},
          {"app.mail", "12", "f", "1", "3.5", "2", "0.012", "1.5", "61", "runs"},
          {"app.web", "0", "t", "0", "0", "0", std::nullopt, std::nullopt, std::nullopt,
           "paused"}}},
        "",
        "",
        "",
        false};
}

Answer refused()
{
    return {{}, "permission denied for table app_mail", "", "42501", false};
}

Answer answer_of(Rows rows)
{
    return {std::move(rows), "", "", "", false};
}

TEST(QueuesScreen, ShowsAllAndEach)
{
    const auto screen = queues_screen({});
    screen->take({queues()});
    const std::string text = text_of(*screen);
    EXPECT_NE(text.find("busy 1/4   backlog ~12   running 1   per min 3.5"), std::string::npos)
        << text;
    EXPECT_NE(text.find("app.mail"), std::string::npos);
    EXPECT_NE(text.find("1m01s runs"), std::string::npos) << text;
    EXPECT_EQ(screen->lines(120), 2);
}

TEST(QueuesScreen, TellsWhatIsNotExact)
{
    const auto screen = queues_screen({});
    Answer answer = queues();
    answer.rows.rows.push_back({"app.zoo", std::nullopt, "f", "0", "0", "0", std::nullopt,
                                std::nullopt, std::nullopt, "locked"});
    screen->take({answer});
    const std::string text = text_of(*screen);
    EXPECT_NE(text.find("app.mail     ~12"), std::string::npos) << text;  // an estimate
    EXPECT_NE(text.find("app.web        0"), std::string::npos) << text;  // counted
    EXPECT_NE(text.find("app.zoo        ?"), std::string::npos) << text;  // not known
}

TEST(QueuesScreen, FitsEightyColumns)
{
    const auto screen = queues_screen({});
    screen->take({queues()});
    for (const Line &line : screen->page(80).body)
        EXPECT_LE(text_of({line}).size(), 82U) << text_of({line});
}

TEST(QueuesScreen, PausesOrResumesWhatIsChosen)
{
    const auto screen = queues_screen({});
    screen->take({queues()});
    Move move = screen->key('p');
    ASSERT_EQ(move.kind, Move::Kind::act);
    EXPECT_EQ(move.action.question.substr(0, 21), "Pause queue app.mail?");
    EXPECT_EQ(move.action.told({{"done"}, {{"t"}}}), "queue app.mail is paused");
    EXPECT_EQ(move.action.told({{"done"}, {{"f"}}}), "queue app.mail was paused already");
    ASSERT_TRUE(screen->go(keys::down, 10, 120));
    move = screen->key('p');
    EXPECT_EQ(move.action.question.substr(0, 21), "Resume queue app.web?");
}

TEST(QueuesScreen, ChangesNothingWhenReadOnly)
{
    const auto screen = queues_screen({true});
    screen->take({queues()});
    EXPECT_EQ(screen->key('p').kind, Move::Kind::say);
    EXPECT_EQ(screen->help().find("pause"), std::string::npos);
}

TEST(QueuesScreen, KeepsWhatIsChosenInAnotherOrder)
{
    const auto screen = queues_screen({});
    screen->take({queues()});
    screen->go(keys::down, 10, 120);
    Answer turned = queues();
    std::swap(turned.rows.rows[1], turned.rows.rows[2]);
    turned.rows.rows.insert(turned.rows.rows.begin() + 1, turned.rows.rows[2]);
    turned.rows.rows[1][0] = "app.new";
    screen->take({turned});
    EXPECT_EQ(screen->key('p').action.question.substr(0, 21), "Resume queue app.web?");
}

TEST(QueuesScreen, FiltersAndSorts)
{
    const auto screen = queues_screen({});
    screen->take({queues()});
    screen->key('/').entered("web");
    EXPECT_EQ(screen->lines(120), 1);
    screen->key('/').entered("");
    EXPECT_EQ(screen->lines(120), 2);
    screen->key('S');  // the last column: state
    EXPECT_EQ(screen->key('p').action.question.substr(0, 21), "Resume queue app.web?");
}

TEST(QueuesScreen, ShowsHeldWhereJobsAreHeld)
{
    const auto screen = queues_screen({});
    const auto shown = [&](const char *mail, const char *web) {
        Answer answer = queues();
        answer.rows.names.emplace_back("held");
        for (std::size_t i = 0; i < 3; ++i)
            answer.rows.rows[i].emplace_back(i == 1 ? mail : i == 2 ? web : "0");
        screen->take({answer});
        return text_of(*screen);
    };
    EXPECT_EQ(shown("0", "0").find("held"), std::string::npos) << shown("0", "0");
    const std::string text = shown("1000", "7");
    EXPECT_NE(text.find("held"), std::string::npos) << text;
    EXPECT_NE(text.find(" 1000+ "), std::string::npos) << text;
    for (const Line &line : screen->page(80).body)
        EXPECT_LE(text_of({line}).size(), 82U) << text_of({line});
}

TEST(GraphsScreen, ShowsHowEachStands)
{
    const auto screen = graphs_screen({});
    screen->take({answer_of(
        {{"graph_id", "jobs", "waiting", "running", "succeeded", "failed", "ended_time", "names"},
         {{"90", "200", "199", "1", "0", "0", std::nullopt, "a, b, c, d"},
          {"80", "2", "2", "0", "0", "0", std::nullopt, "a, b"},
          {"70", "2", "0", "0", "1", "1", "2026-01-01", "a, b"},
          {"60", "2", "0", "0", "2", "0", "2026-01-01", "a, b"}}})});
    const std::string text = text_of(*screen);
    EXPECT_NE(text.find("90 running   200+"), std::string::npos) << text;
    EXPECT_NE(text.find("a, b, c, d, ..."), std::string::npos) << text;
    EXPECT_NE(text.find("80 waiting      2"), std::string::npos) << text;
    EXPECT_NE(text.find("70 failed       2"), std::string::npos) << text;
    EXPECT_NE(text.find("60 succeeded    2"), std::string::npos) << text;
    const Move move = screen->key(keys::enter);
    ASSERT_EQ(move.kind, Move::Kind::open);
    EXPECT_EQ(move.screen->asks().front().values.front(), "90");
}

TEST(GraphsScreen, SaysThatTheExtensionIsTooOld)
{
    const auto screen = graphs_screen({});
    screen->take({{{}, "function hipq._newest_graphs does not exist", "", "42883", false}});
    EXPECT_NE(text_of(*screen).find("too old for graphs (ALTER EXTENSION hipq UPDATE)"),
              std::string::npos)
        << text_of(*screen);
}

TEST(GraphScreen, ListsJobsInTheOrderOfItsLayers)
{
    const auto screen = graph_screen({}, "12");
    const auto named = [](const char *name, const char *after, const char *id) {
        return std::vector<Value>{"9", name, "waiting", after, id, "app.mail"};
    };
    screen->take({answer_of({{"graph_id", "name", "outcome", "after", "job_id", "queue"},
                             {named("first", "", "9"),
                              named("last",
                                    "first\x1flate\x1f"
                                    "7",
                                    "10"),
                              named("late", "middle", "11"), named("middle", "first", "12"),
                              named("alone", "", "13")}})});
    EXPECT_EQ(screen->title(), "graph 9");
    std::vector<std::string> names;
    for (const Line &line : screen->page(120).body)
        names.push_back(text_of({line}).substr(0, 12));
    EXPECT_EQ(names, (std::vector<std::string>{"    1 first ", "    1 alone ", "    2 middle",
                                               "    3 late  ", "    4 last  "}));
    EXPECT_NE(text_of(*screen).find("first, late, 7"), std::string::npos) << text_of(*screen);
    EXPECT_NE(text_of(*screen).find("5 jobs   waiting 5"), std::string::npos);
    screen->go(keys::end, 10, 120);
    EXPECT_EQ(screen->key(keys::enter).kind, Move::Kind::open);
}

TEST(QueueScreen, CountsHeldJobsWhereTheRoleMayReadThem)
{
    const auto screen = queue_screen({}, {"app.mail", ""});
    const auto activity = [](const Value &table) {
        return answer_of(
            {{"state", "backlog", "exact", "readable_table"}, {{"waits", "9", "t", table}}});
    };
    screen->take({activity(std::nullopt), {}, {}});
    EXPECT_EQ(screen->asks().size(), 3U);
    screen->take({activity("hipq.app_mail"), {}, {}});
    ASSERT_EQ(screen->asks().size(), 4U);
    EXPECT_NE(screen->asks().back().text.find("FROM hipq.app_mail "), std::string::npos);
    const auto shown = [&](const char *held) {
        screen->take({activity("hipq.app_mail"), {}, {}, answer_of({{"held"}, {{held}}})});
        return text_of(*screen);
    };
    EXPECT_EQ(shown("0").find("held"), std::string::npos);
    EXPECT_NE(shown("7").find("backlog 9   held 7   running"), std::string::npos) << shown("7");
    EXPECT_NE(shown("10000").find("held at least 10000"), std::string::npos) << shown("10000");
}

TEST(QueueScreen, SaysWhatIsPausedAndUntilWhen)
{
    const auto screen = queue_screen({}, {"app.mail", ""});
    const auto shown = [&](const Value &ends_in) {
        screen->take({answer_of({{"state", "backlog", "exact"}, {{"waits", "9", "t"}}}),
                      {},
                      answer_of({{"job_type", "throttle_key", "paused_by", "reason", "crashes",
                                  "is_of_instance", "paused_for", "ends_in"},
                                 {{"send", std::nullopt, "ann", "tea", std::nullopt, "f", "61",
                                   ends_in}}})});
        return text_of(*screen);
    };
    EXPECT_NE(shown(std::nullopt).find("paused: type send, for 1m01s, by ann: tea"),
              std::string::npos)
        << shown(std::nullopt);
    EXPECT_NE(shown("125").find("paused: type send, for 1m01s, ends in 2m05s, by ann: tea"),
              std::string::npos)
        << shown("125");
}

TEST(QueueScreen, ShowsRatesWithTheNextTurn)
{
    const auto screen = queue_screen({}, {"app.mail", ""});
    const auto shown = [&](const Value &limit, const Value &turn) {
        screen->take({answer_of({{"state", "rate_limit", "rate_used", "next_turn"},
                                 {{"waits", limit, "100.000", turn}}}),
                      answer_of({{"job_type", "rate_limit", "rate_used", "next_turn"},
                                 {{"send", limit, "2.500", turn}}}),
                      {}});
        return text_of(*screen);
    };
    EXPECT_EQ(shown(std::nullopt, std::nullopt).find("rate"), std::string::npos);
    const std::string ahead = shown("100/min", "4.2");
    EXPECT_NE(ahead.find("\nrate 100 of 100/min, next turn in 4.2s\n"), std::string::npos) << ahead;
    EXPECT_NE(ahead.find(" 2.5 of 100/min    4.2s"), std::string::npos) << ahead;
    const std::string past = shown("100/min", "-4.2");
    EXPECT_EQ(past.find("next turn"), std::string::npos) << past;
    EXPECT_EQ(past.find("4.2s"), std::string::npos) << past;
}

TEST(QueueScreen, SaysHowLongABreakerIsOpen)
{
    const auto screen = queue_screen({}, {"app.mail", ""});
    const auto shown = [&](const char *state, const Value &ends_in) {
        screen->take({answer_of({{"state"}, {{"waits"}}}),
                      answer_of({{"job_type", "breaker_state", "breaker_ends_in"},
                                 {{"send", state, ends_in}}}),
                      {}});
        return text_of(*screen);
    };
    EXPECT_EQ(shown("closed", std::nullopt).find("breaker"), std::string::npos);
    EXPECT_NE(shown("open", "245").find("breaker open for 4m05s"), std::string::npos);
    EXPECT_EQ(shown("open", std::nullopt).find("breaker open for"), std::string::npos);
    EXPECT_NE(shown("half open", "-3").find("breaker half open"), std::string::npos);
    EXPECT_EQ(shown("half open", "-3").find("half open for"), std::string::npos);
}

TEST(SchedulesScreen, ShowsNextRunsAndTellsWhatWentWrong)
{
    const auto screen = schedules_screen();
    screen->take({answer_of({{"queue", "name", "cron", "is_active", "next_in", "local_time", "zone",
                              "last_action", "last_error"},
                             {{"app.mail", "nightly", "0 2 * * *", "t", "3661",
                               "2026-01-02 02:00:00", "Europe/Berlin", "failed", "no such type"},
                              {"app.web", "nightly", "@daily", "f", std::nullopt, std::nullopt,
                               "UTC", std::nullopt, std::nullopt}}})});
    const std::string text = text_of(*screen);
    EXPECT_NE(text.find("1h01m 2026-01-02 02:00:00 Europe/Berlin"), std::string::npos) << text;
    EXPECT_NE(text.find("- inactive"), std::string::npos) << text;
    EXPECT_EQ(screen->key(keys::enter).text, "no such type");
    screen->go(keys::down, 10, 120);
    EXPECT_EQ(screen->key(keys::enter).text, "nothing went wrong in its last run");
}

TEST(JobsScreen, AsksForTheTableFirst)
{
    const auto screen = jobs_screen({}, {"app.mail", ""}, "", JobKind::newest);
    ASSERT_EQ(screen->asks().size(), 1U);
    screen->take({{{{"table_name"}, {{"hipq.app_mail"}}}, "", "", "", false}});
    EXPECT_TRUE(screen->asks_on());
    EXPECT_NE(screen->asks().front().text.find("FROM hipq.app_mail "), std::string::npos);
}

TEST(JobsScreen, SaysWhatTheRoleMayNotRead)
{
    const auto screen = jobs_screen({}, {"app.mail", "hipq.app_mail"}, "", JobKind::newest);
    screen->take({refused()});
    EXPECT_NE(text_of(*screen).find("Your role may not read this: permission denied"),
              std::string::npos);
}

TEST(JobsScreen, GoesFromPageToPageById)
{
    const auto screen = jobs_screen({}, {"app.mail", "hipq.app_mail"}, "", JobKind::newest);
    Answer page{{{"id", "job_type", "job_key", "outcome"}, {}}, "", "", "", false};
    for (int id = 100; id > 50; --id)
        page.rows.rows.push_back({std::to_string(id), "work", std::nullopt, "waiting"});
    screen->take({page});
    screen->key(keys::right);
    EXPECT_EQ(screen->asks().front().values.front(), "51");
    screen->key(keys::left);
    EXPECT_EQ(screen->asks().front().values.front(), std::nullopt);
}

TEST(JobsScreen, LooksForAnIdOrAKey)
{
    const auto screen = jobs_screen({}, {"app.mail", "hipq.app_mail"}, "", JobKind::newest);
    screen->key('/').entered("42");
    EXPECT_EQ(screen->asks().size(), 2U) << "a key may be a number, too";
    screen->key('/').entered("ann");
    ASSERT_EQ(screen->asks().size(), 1U);
    EXPECT_EQ(screen->asks().front().values.front(), "ann");
}

TEST(Bar, IsAsLongAsWhatIsDone)
{
    EXPECT_EQ(bar(0, 4, 4), "░░░░");
    EXPECT_EQ(bar(3, 4, 4), "███░");
    EXPECT_EQ(bar(9, 4, 4), "████");
    EXPECT_EQ(bar(0, 0, 2), "██");
}

TEST(JobScreen, FindsTheQueueOfAnId)
{
    const auto screen = found_job_screen({}, "42");
    screen->take({{{{"queue", "explanation"}, {{std::nullopt, "There is no such job."}}},
                   "",
                   "",
                   "",
                   false}});
    EXPECT_FALSE(screen->asks_on());
    EXPECT_NE(text_of(*screen).find("There is no such job."), std::string::npos);
}

TEST(AlertsScreen, SaysOnceAndTwice)
{
    const auto screen = alerts_screen();
    screen->take({{{{"alert", "severity", "times", "detail", "hint", "age"},
                    {{"lanes", "alarm", "1", "Slow.", "Raise it.", "5"},
                     {"workers", "alarm", "2", "Full.", "Raise it.", "5"}}},
                   "",
                   "",
                   "",
                   false}});
    const std::string text = text_of(*screen);
    EXPECT_NE(text.find("alarm   1 time, the last"), std::string::npos) << text;
    EXPECT_NE(text.find("alarm   2 times, the last"), std::string::npos) << text;
}

TEST(JobScreen, TellsWhatItsProcessWaitsFor)
{
    const auto screen = job_screen({}, {"app.mail", "hipq.app_mail"}, "42");
    const Answer none;
    screen->take(
        {answer_of({{"job_type", "state"}, {{"work", "running"}}}), none, none, none, none, none,
         answer_of({{"pid", "waits_for", "blocked_by"}, {{"12", "Lock: tuple", "34, 56"}}})});
    EXPECT_NE(text_of(*screen).find("process 12 waits for Lock: tuple, blocked by 34, 56"),
              std::string::npos)
        << text_of(*screen);
}

TEST(JobScreen, TellsWhatAHeldJobWaitsFor)
{
    const auto screen = job_screen({}, {"app.mail", "hipq.app_mail"}, "42");
    screen->take(
        {answer_of({{"job_type", "state", "is_held"}, {{"work", "initial", "t"}}}),
         answer_of({{"condition", "passed", "explanation"},
                    {{"waits for", "f", "It comes after jobs that have not ended: 7."}}})});
    const std::string text = text_of(*screen);
    EXPECT_EQ(text.substr(0, 7), "held   ") << text;
    EXPECT_NE(text.find("  waits for         It comes after jobs"), std::string::npos) << text;
}

TEST(JobScreen, TellsWhatIsUnmetAndHidesNothingElse)
{
    const auto screen = job_screen({}, {"app.mail", "hipq.app_mail"}, "42");
    const Answer row{{{"job_type", "state", "error", "job_data", "attempt"},
                      {{"work", "initial", "NONE", R"({"token": "***", "to": "ann"})", "0"}}},
                     "",
                     "",
                     "",
                     false};
    const Answer why{{{"condition", "passed", "explanation"},
                      {{"state", "t", "It waits."}, {"worker", "f", "There is none."}}},
                     "",
                     "",
                     "",
                     false};
    screen->take({row, why, {}, {}, {}, {}});
    const std::string text = text_of(*screen);
    EXPECT_NE(text.find("  worker            There is none."), std::string::npos) << text;
    EXPECT_NE(text.find("is not in its way state"), std::string::npos);
    EXPECT_NE(text.find("secret parameters are ***"), std::string::npos);
    EXPECT_NE(text.find("    \"to\": \"ann\""), std::string::npos);
    EXPECT_EQ(screen->key('R').kind, Move::Kind::say) << "it has no dead letter";
    EXPECT_EQ(screen->key('c').action.question.substr(0, 14), "Cancel job 42 ");
}

}  // namespace

}  // namespace hipq::top
