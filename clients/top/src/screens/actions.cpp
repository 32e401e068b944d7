// What can be done: each with a question that says what will happen, and words for what did.
#include "screens/actions.hpp"

namespace hipq::top::actions {

namespace {

std::string place_of(const std::string &queue, const std::string &job_type)
{
    return job_type.empty() ? "queue " + queue : "job type " + job_type + " of queue " + queue;
}

}  // namespace

Action pause(const std::string &queue, const std::string &job_type)
{
    const std::string place = place_of(queue, job_type);
    return {"Pause " + place + "? No more of its jobs start; what runs goes on.",
            statements::pause(queue, job_type, "by hipq-top"), [place](const Rows &rows) {
                return place + (rows.is_true(0, "done") ? " is paused" : " was paused already");
            }};
}

Action resume(const std::string &queue, const std::string &job_type)
{
    const std::string place = place_of(queue, job_type);
    return {"Resume " + place + "? Its jobs start again.", statements::resume(queue, job_type),
            [place](const Rows &rows) {
                return place + (rows.is_true(0, "done")
                                    ? " is resumed"
                                    : " itself was not paused: its instance may be");
            }};
}

Action cancel(const QueueName &queue, const std::string &id)
{
    return {"Cancel job " + id + " for good? If it runs it is stopped at once.",
            statements::cancel(queue, id), [id](const Rows &rows) {
                return "job " + id +
                       (rows.is_true(0, "done") ? " is cancelled" : " has ended otherwise");
            }};
}

Action retry(const QueueName &queue, const std::string &id)
{
    return {"Run job " + id + " again? A new job with the same data is enqueued.",
            statements::retry(queue, id), [id](const Rows &rows) {
                return "job " + id + " runs again as job " + rows.text(0, "id");
            }};
}

Action redrive(const std::string &id)
{
    return {"Redrive the dead letter of job " + id + "? A new job with the same data is enqueued.",
            statements::redrive(id), [id](const Rows &rows) {
                return "dead letter " + id + " is redriven as job " + rows.text(0, "id");
            }};
}

Action dismiss(const std::string &id)
{
    return {"Dismiss the dead letter of job " + id + "? It stays, marked: nothing is to be done.",
            statements::dismiss(id),
            [id](const Rows &) { return "dead letter " + id + " is dismissed"; }};
}

// In slices: each is a transaction of its own, so that what is done stays done.
Action redrive_all(const QueueName &queue)
{
    Action action{"Redrive all waiting dead letters of queue " + queue.name +
                      "? Each job is enqueued anew, some hundred at a time; any key stops it.",
                  statements::redrive_some(queue), [](const Rows &rows) {
                      const std::string taken = rows.text(0, "key_taken");
                      return taken == "0" ? std::string("no dead letter is left to redrive")
                                          : "no other is left: the keys of " + taken + " are taken";
                  }};
    action.done = [](const Rows &rows) { return rows.number(0, "redriven"); };
    action.total = statements::waiting_dead_letters(queue);
    return action;
}

Action drain(const std::string &worker_id, const std::string &name)
{
    return {"Drain worker " + name + "? It gets no more jobs; what it has accepted it finishes.",
            statements::drain_worker(worker_id),
            [name](const Rows &) { return "worker " + name + " is drained"; }};
}

}  // namespace hipq::top::actions
