// All screens.
#pragma once

#include "screens/screen.hpp"

namespace hipq::top {

struct Mode {
    bool is_read_only = false;
    std::string sort = "busy";
    int lines = -1;  // number of queues; negative: all
};

// If the table of the queue is not known yet, the screen queries it.
std::shared_ptr<Screen> queues_screen(const Mode &mode);
std::shared_ptr<Screen> queue_screen(const Mode &mode, const QueueName &queue);
std::shared_ptr<Screen> jobs_screen(const Mode &mode, const QueueName &queue,
                                    const std::string &job_type, JobKind kind);
std::shared_ptr<Screen> job_screen(const Mode &mode, const QueueName &queue, const std::string &id);
std::shared_ptr<Screen> graphs_screen(const Mode &mode);
// The jobs of a graph, of which one has this id.
std::shared_ptr<Screen> graph_screen(const Mode &mode, const std::string &id);
std::shared_ptr<Screen> workers_screen(const Mode &mode);
std::shared_ptr<Screen> executors_screen(const Mode &mode);
std::shared_ptr<Screen> dead_letters_screen(const Mode &mode, const QueueName &queue);
std::shared_ptr<Screen> fillers_screen(const Mode &mode, const QueueName &queue);
std::shared_ptr<Screen> schedules_screen();
std::shared_ptr<Screen> alerts_screen();
std::shared_ptr<Screen> settings_screen();
std::shared_ptr<Screen> help_screen();

// For a job whose queue is not known: the screen queries it first.
std::shared_ptr<Screen> found_job_screen(const Mode &mode, const std::string &id);

Tone tone_of_state(const std::string &state);
Tone tone_of_outcome(const std::string &outcome);

// Cells for a number, a duration in seconds, and a text.
Cell number_cell(const Rows &rows, std::size_t row, const char *column);
Cell backlog_cell(const Rows &rows, std::size_t row);  // of columns backlog and exact
Cell time_cell(const Rows &rows, std::size_t row, const char *column);
Cell text_cell(const Rows &rows, std::size_t row, const char *column, Tone tone = Tone::plain);
// 30 of 100/min, and in how long the next job may start, if that time lies ahead: of columns
// rate_limit, rate_used and next_turn.
Cell rate_cell(const Rows &rows, std::size_t row);
Cell turn_cell(const Rows &rows, std::size_t row);

}  // namespace hipq::top
