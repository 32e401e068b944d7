// Asks the nodes of an instance one after the other, in the order of core/shards/search.hpp.
//
// A job may be on its way while the nodes are asked, so a "no" is not final at once: everything
// sent so far must be read first, and then all nodes, including this one, are asked again. Their
// "no" counts if the job's slot has not begun to move in the meantime, as far as a shard may know.
#include "nodes/nodes.hpp"

#include "catalog/cache.hpp"
#include "catalog/rights.hpp"
#include "core/shards/search.hpp"
#include "job/find_job.hpp"
#include "nodes/answer.hpp"
#include "nodes/answering.hpp"
#include "nodes/dblink.hpp"
#include "nodes/neighbours.hpp"
#include "pg/arguments.hpp"
#include "pg/error_codes.hpp"
#include "pg/quote.hpp"
#include "pg/transaction.hpp"

#include <algorithm>
#include <set>

namespace hipq::nodes {

namespace {

// ---- on this node, but not in a queue ----

// For a job that is held to keep the order, also what it waits for.
constinit pg::Statement select_held(R"(
    SELECT held.queue,
           CASE WHEN held.queue = ANY (coming.in_order) THEN
               CASE
                   WHEN coming.busy_keys @> jsonb_build_array(jsonb_build_object('queue', held.queue, 'awaits', 'last')) THEN 'last'
                   WHEN coming.busy_keys @> jsonb_build_array(jsonb_build_object('queue', held.queue)) THEN 'jobs'
                   WHEN coming.busy_keys IS NULL THEN 'returned'
                   ELSE 'nothing'
               END
           END
    FROM hipq.shard_held_job AS held
    LEFT JOIN hipq.shard_coming AS coming ON coming.instance_id = held.instance_id AND coming.slot = held.slot
    WHERE held.instance_id = $1 AND held.slot = $2 AND (held.job ->> 'id')::bigint = $3)");

constinit pg::Statement select_reject(R"(
    SELECT reject.queue, reject.node, reject.sqlstate, reject.error
    FROM hipq.shard_reject AS reject
    WHERE reject.job_id = $1 AND reject.instance = $2
    LIMIT 1)");

// Whether the caller may know of jobs of a queue.
bool may_know(const catalog::Catalogue &catalogue, const Instance &instance,
              const std::string &queue)
{
    const catalog::Queue *found = catalogue.find(instance.name + "." + queue);
    return found != nullptr && catalog::has_any_right(catalog::caller(), *found);
}

// `awaits` is empty if the job is held for its key.
std::string why_held(const std::string &awaits)
{
    if (awaits.empty())
        return "Its slot has just come to this node, and a job with its key may still run at the "
               "node before.";
    std::string reason = "Its slot has just come to this node, and its queue keeps the order while "
                         "slots move (move_order = strict). ";
    if (awaits == "last")
        return reason + "It waits for transactions that are open on the router: they may have "
                        "enqueued jobs that come before it.";
    if (awaits == "jobs")
        return reason + "It waits for jobs of its slot that still run at the node before.";
    if (awaits == "returned")
        return reason + "It waits for jobs of its slot that have not come from the node before.";
    return reason + "It is let in with those that came before it in a moment.";
}

std::optional<Found> find_held(const catalog::Catalogue &catalogue, const Instance &instance,
                               std::int64_t id)
{
    const auto parts = core::decompose_id(id);
    if (!parts.has_value())
        return std::nullopt;
    const pg::Rows rows = pg::as_extension_owner([&] {
        return select_held.run_latest(instance.id, static_cast<std::int16_t>(parts->slot), id);
    });
    if (rows.empty() || !may_know(catalogue, instance, rows.front().text(0)))
        return std::nullopt;
    const std::string awaits = rows.front().text(1);
    Found found{Place::held, "", "", why_held(awaits)};
    found.keeps_order = !awaits.empty();
    return found;
}

// Returns why there is no such job, if known.
std::string why_nowhere(const catalog::Catalogue &catalogue, const Instance &instance,
                        std::int64_t id)
{
    const pg::Rows rows =
        pg::as_extension_owner([&] { return select_reject.run(id, instance.name); });
    if (rows.empty() || !may_know(catalogue, instance, rows.front().text(0)))
        return "";
    const pg::Row row = rows.front();
    return "It was not taken by " + instance.shown(row.integer32(1)) + ": " + row.text(3) + " (" +
           row.text(2) + ").";
}

// ---- other nodes ----

std::string literal(const std::optional<std::string> &text)
{
    return text.has_value() ? pg::quote_literal(*text) : "NULL";
}

std::string name_of_caller()
{
    return pg::call([] { return ::GetUserNameFromId(catalog::caller(), false); });
}

std::string statement_for(const Instance &instance, const Call &call)
{
    std::string arguments;
    for (const std::optional<std::string> &argument : call.arguments)
        arguments += (arguments.empty() ? "" : ", ") + literal(argument);
    return "SELECT hipq._answer(" + pg::quote_literal(instance.name) + ", " +
           std::to_string(instance.shards->own_node) + ", " + pg::quote_literal(name_of_caller()) +
           ", " + pg::quote_literal(call.function) + ", " + std::to_string(call.id) + ", ARRAY[" +
           arguments + "]::text[], " + (call.is_about_letter ? "true" : "false") + ")";
}

// A search starts again if slots begin to move during it; slots do not move forever.
constexpr int most_looks = 5;

class Search {
public:
    Search(const Instance &instance, const Call &call)
        : instance_(&instance), call_(&call), neighbours_(neighbours(instance)),
          place_(present_place()), plan_(present_plan())
    {
    }

    Found run()
    {
        if (!ask_all())
            ask_until_certain();
        std::string problems = silence_;
        if (!unread_.empty())
            add(problems, unread_);
        if (found_.place == Place::nowhere && !problems.empty())
            return {Place::unknown, "", "", problems, log_};
        return found_;
    }

private:
    core::SlotPlace present_place() const
    {
        const auto parts = core::decompose_id(call_->id);
        return parts.has_value() && instance_->is_router() ? place_of(*instance_, parts->slot)
                                                           : core::SlotPlace{};
    }

    core::SearchPlan present_plan() const
    {
        std::vector<int> shards;
        for (const Neighbour &neighbour : neighbours_)
            if (neighbour.node != core::router_node)
                shards.push_back(neighbour.node);
        return core::search_plan(call_->id, instance_->shards->own_node, place_, shards);
    }

    // Asks again after everything that may have been on its way has been read. Repeats that as long
    // as the place of the job's slot changes in the meantime: its move has begun or ended.
    void ask_until_certain()
    {
        if (!instance_->is_router() || plan_ == core::SearchPlan{})
            return;
        for (int look = 0; look < most_looks; ++look) {
            unread_.clear();
            late_.clear();
            if (!see_all_moves())
                return;
            place_ = present_place();
            plan_ = present_plan();
            wait_for_readers();
            if (ask_here() || ask_all() || !see_all_moves() || place_ == present_place())
                return;
        }
        add(unread_, "Slots have begun to move again and again.");
    }

    bool see_all_moves()
    {
        if (wait_for_moves())
            return true;
        add(unread_, "Slots are being moved by a transaction that is still open.");
        return false;
    }

    bool ask_all()
    {
        return std::any_of(plan_.ask.begin(), plan_.ask.end(),
                           [&](int node) { return ask_node(node); });
    }

    bool ask_node(int node)
    {
        const Neighbour *neighbour = find(node);
        if (neighbour == nullptr) {
            note_problem(node, "is not connected with this node", "");
            return false;
        }
        const auto answer = reply_of(*neighbour, statement_for(*instance_, *call_));
        if (!answer.has_value())
            return false;
        found_ = {Place::elsewhere, *answer, instance_->shown(node)};
        return true;
    }

    // Returns nothing also for a node that cannot be reached.
    std::optional<std::string> reply_of(const Neighbour &neighbour, const std::string &statement)
    {
        if (silent_.contains(neighbour.node))
            return std::nullopt;  // it was unreachable before
        const Reply reply = ask(neighbour.conninfo, statement, instance_->shown(neighbour.node));
        if (!reply.is_reached)
            note_problem(neighbour.node, "cannot be reached", reply.trouble);
        return reply.answer;
    }

    // The job may have arrived here since this node was searched.
    bool ask_here()
    {
        const auto answer = answer_here(*call_, catalog::caller(), Asker::router, instance_->name);
        if (!answer.has_value())
            return false;
        found_ = {Place::elsewhere, *answer, instance_->shown(instance_->shards->own_node)};
        return true;
    }

    void wait_for_readers()
    {
        wait_for_receivers();
        for (const int node : plan_.senders)
            if (const Neighbour *sender = find(node); sender != nullptr)
                demand_read(node, "sent by",
                            reply_of(*sender, "SELECT hipq._wait_until_read(" +
                                                  pg::quote_literal(instance_->name) + ")::text") ==
                                "true");
        wait_for_receivers();
    }

    void wait_for_receivers()
    {
        for (const int node : plan_.receivers)
            if (const Neighbour *receiver = find(node);
                receiver != nullptr && !silent_.contains(node) && !late_.contains(node))
                demand_read(node, "sent to", wait_until_read(*receiver));
    }

    void demand_read(int node, const char *direction, bool is_read)
    {
        if (is_read || silent_.contains(node))
            return;
        late_.insert(node);
        add(unread_, std::string("Not all that was ") + direction + " " + instance_->shown(node) +
                         " has been read.");
        if (meets_error(*instance_, node))
            add(unread_, "An error keeps it from that: view hipq.alerts tells of it.");
    }

    void note_problem(int node, const char *problem, const std::string &trouble)
    {
        silent_.insert(node);
        std::string sentence = instance_->shown(node) + " " + problem + ".";
        sentence.front() = static_cast<char>(std::toupper(sentence.front()));
        add(silence_, sentence);
        if (!trouble.empty())
            log_ += (log_.empty() ? "" : "\n") + instance_->shown(node) + ": " + trouble;
    }

    static void add(std::string &sentences, const std::string &sentence)
    {
        sentences.append(sentences.empty() ? "" : " ").append(sentence);
    }

    const Neighbour *find(int node) const
    {
        const auto found = std::find_if(neighbours_.begin(), neighbours_.end(),
                                        [&](const Neighbour &each) { return each.node == node; });
        return found == neighbours_.end() ? nullptr : &*found;
    }

    const Instance *instance_;
    const Call *call_;
    std::vector<Neighbour> neighbours_;
    core::SlotPlace place_;
    core::SearchPlan plan_;
    std::set<int> silent_{};  // nodes that cannot be reached; they are asked once
    std::string silence_{};   // these nodes, in sentences
    std::string log_{};       // the reasons, for the log
    std::string unread_{};    // what had not been read after the last wait, in sentences
    std::set<int> late_{};    // the nodes that this concerns
    Found found_{};
};

// ---- the instances ----

// The instances that may have the job of the call.
std::vector<Instance> instances_meant(const catalog::Catalogue &catalogue, const Call &call)
{
    std::map<int, Instance> instances;
    for (const auto &[id, queue] : catalogue.queues)
        if (queue.shards != nullptr && is_asked_about(queue.instance) &&
            (!call.queue.has_value() || *call.queue == queue.full_name()))
            instances.try_emplace(queue.instance_id,
                                  Instance{queue.instance_id, queue.instance, queue.shards.get()});
    std::vector<Instance> list;
    list.reserve(instances.size());
    for (const auto &[id, instance] : instances)
        list.push_back(instance);
    return list;
}

Call look_for(const Call &call)
{
    return call.is_about_letter ? Call{"has_dead_letter", call.id, {}, call.queue, true}
                                : Call{"has_job", call.id, {call.queue}, call.queue, false};
}

// Nodes assign ids independently, so two instances may have a job with the same id.
Found search_in_several(const std::vector<Instance> &instances, const Call &call)
{
    const Instance *has_it = nullptr;
    Found other;
    for (const Instance &instance : instances) {
        const Found found = Search(instance, look_for(call)).run();
        if (found.place == Place::elsewhere && has_it != nullptr)
            HIPQ_RAISE(errcode(ERRCODE_AMBIGUOUS_PARAMETER),
                       errmsg("instances \"%s\" and \"%s\" both have a job %lld",
                              has_it->name.c_str(), instance.name.c_str(),
                              static_cast<long long>(call.id)),
                       errhint("Name its queue, or call the function on the shard."));
        if (found.place == Place::elsewhere)
            has_it = &instance;
        else if (found.place == Place::unknown)
            other = found;
    }
    return has_it != nullptr ? Search(*has_it, call).run() : other;
}

bool wait_for_all_readers(const std::string &name)
{
    const auto catalogue = catalog::catalogue();
    bool is_read = true;
    for (const Instance &instance : instances_meant(*catalogue, {"", 0}))
        if (instance.name == name)
            for (const Neighbour &neighbour : neighbours(instance))
                is_read = wait_until_read(neighbour) && is_read;
    return is_read;
}

}  // namespace

Found search(const catalog::Catalogue &catalogue, const Call &call)
{
    const std::vector<Instance> instances = instances_meant(catalogue, call);
    if (!call.is_about_letter)
        for (const Instance &instance : instances)
            if (auto held = find_held(catalogue, instance, call.id))
                return *held;
    Found found;
    if (!instances.empty() && asker() != Asker::router)
        found = instances.size() == 1 ? Search(instances.front(), call).run()
                                      : search_in_several(instances, call);
    if (found.place != Place::nowhere)
        return found;
    note_missing();
    for (const Instance &instance : instances)
        if (found.reason.empty())
            found.reason = why_nowhere(catalogue, instance, call.id);
    return found;
}

std::optional<std::string> call(const catalog::Catalogue &catalogue, const Call &call)
{
    return require_certain(call, search(catalogue, call));
}

std::string call_for_job(const catalog::Catalogue &catalogue, const Call &call)
{
    const auto answer = nodes::call(catalogue, call);
    if (!answer.has_value())
        job::raise_unknown_job(call.id);
    return *answer;
}

std::optional<std::string> require_certain(const Call &call, const Found &found)
{
    const auto id = static_cast<long long>(call.id);
    if (found.place == Place::held)
        HIPQ_RAISE(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
                   found.keeps_order ? errmsg("job %lld is held until its slot has come", id)
                                     : errmsg("job %lld is held until its key is free", id),
                   errdetail_internal("%s", found.reason.c_str()),
                   errhint("Try again in a moment."));
    if (found.place == Place::unknown)
        HIPQ_RAISE(
            errcode(pg::errcode_node_is_silent),
            errmsg("cannot find job %lld: not all servers that may have it have answered", id),
            errdetail_internal("%s", found.reason.c_str()),
            found.log.empty() ? 0 : errdetail_log("%s %s", found.reason.c_str(), found.log.c_str()),
            errhint("View hipq.shards on the router says what is in the way; try again when "
                    "it is mended."));
    if (found.place == Place::nowhere && !found.reason.empty())
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("job %lld does not exist", id),
                   errdetail_internal("%s", found.reason.c_str()),
                   errhint("View hipq.shard_rejects has it."));
    return found.place == Place::elsewhere ? std::optional(found.answer) : std::nullopt;
}

}  // namespace hipq::nodes

// Called by the router to make sure that nothing sent by this shard is on its way.
HIPQ_FUNCTION(hipq__wait_until_read)
{
    return BoolGetDatum(
        hipq::nodes::wait_for_all_readers(hipq::pg::Arguments(fcinfo).text("instance_name")));
}
