// The actions: each with a question that says what will happen, and a message about the result.
#include "screens/actions.hpp"

namespace hipq::top::actions {

namespace {

std::string name_of(const Place &place)
{
    std::string name = "queue " + place.queue;
    if (!place.job_type.empty())
        name = "job type " + place.job_type + " of " + name;
    if (!place.throttle_key.empty())
        name = "throttle key " + place.throttle_key + " of " + name;
    return name;
}

}  // namespace

Action pause(const Place &place)
{
    const std::string name = name_of(place);
    return {"Pause " + name + "? No more of its jobs start; what runs goes on.",
            statements::pause(place.queue, place.job_type, place.throttle_key, "by hipq-top"),
            [name](const Rows &rows) {
                return name + (rows.is_true(0, "done") ? " is paused" : " was paused already");
            }};
}

Action resume(const Place &place)
{
    const std::string name = name_of(place);
    return {"Resume " + name + "? Its jobs start again.",
            statements::resume(place.queue, place.job_type, place.throttle_key),
            [name](const Rows &rows) {
                return name + (rows.is_true(0, "done")
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

// In slices: each is its own transaction, so that finished slices stay.
Action redrive_all(const QueueName &queue, const Died &died)
{
    std::string which = "all waiting dead letters of queue " + queue.name;
    if (!died.job_type.empty())
        which += ", type " + died.job_type + ", that are not newer than this (" + died.time + ")";
    Action action{"Redrive " + which +
                      "? Each job is enqueued anew, some hundred at a time; any key stops it.",
                  statements::redrive_some(queue, died.job_type, died.before),
                  [](const Rows &rows) {
                      const std::string taken = rows.text(0, "key_taken");
                      return taken == "0" ? std::string("no dead letter is left to redrive")
                                          : "no other is left: the keys of " + taken + " are taken";
                  }};
    action.done = [](const Rows &rows) { return rows.number(0, "redriven"); };
    action.total = statements::waiting_dead_letters(queue, died.job_type, died.before);
    return action;
}

Action drain(const std::string &worker_id, const std::string &name)
{
    return {"Drain worker " + name + "? It gets no more jobs; what it has accepted it finishes.",
            statements::drain_worker(worker_id),
            [name](const Rows &) { return "worker " + name + " is drained"; }};
}

}  // namespace hipq::top::actions
