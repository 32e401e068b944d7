// Stops or ends a process at named points of test builds.
#include "pg/point.hpp"

#ifdef HIPQ_POINTS

#include <sys/mman.h>
#include <sys/resource.h>

#include <csignal>

#include "pg/guard.hpp"

namespace hipq::pg {

namespace {

enum class Action : std::uint32_t { none, error, cancel, terminate, exit, abort, kill, wait };

// Shared by all processes of the server. `armed` holds the action in its low byte, and above it the
// number of passages to let go by first.
struct Point {
    std::atomic<std::int64_t> reached;
    std::atomic<std::int64_t> fired;
    std::atomic<std::uint32_t> armed;
    std::atomic<std::int32_t> waiting;
    std::atomic<bool> held;  // a waiting process must go on waiting
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free &&
              std::atomic<std::uint32_t>::is_always_lock_free);

constexpr std::uint32_t passages_shift = 8;
constexpr std::uint32_t action_mask = (1U << passages_shift) - 1;

constinit Point *points = nullptr;

template <class Names>
std::size_t number_in(const Names &names, std::string_view name, const char *kind)
{
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
        const std::string text(name);
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("there is no %s \"%s\"", kind, text.c_str()));
    }
    return static_cast<std::size_t>(found - names.begin());
}

// Disarms the point and returns its action if it is this process's turn.
Action take_action(Point &point)
{
    std::uint32_t armed = point.armed.load();
    while (armed != 0) {
        const bool is_my_turn = armed >> passages_shift == 0;
        const std::uint32_t next = is_my_turn ? 0 : armed - (1U << passages_shift);
        if (point.armed.compare_exchange_weak(armed, next))
            return is_my_turn ? static_cast<Action>(armed & action_mask) : Action::none;
    }
    return Action::none;
}

void signal_myself(int signal)
{
    call([&] {
        ::kill(MyProcPid, signal);
        CHECK_FOR_INTERRUPTS();
    });
}

// Does not reset the latch, because it was set for the work that comes after the point.
void wait_at(Point &point)
{
    point.waiting = MyProcPid;
    try {
        while (point.held.load()) {
            call([] {
                (void)::WaitLatch(MyLatch, WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, 5, PG_WAIT_EXTENSION);
                CHECK_FOR_INTERRUPTS();
            });
        }
    } catch (...) {
        point.waiting = 0;
        throw;
    }
    point.waiting = 0;
}

[[noreturn]] void crash()
{
    const struct rlimit none {
    };
    ::setrlimit(RLIMIT_CORE, &none);
    std::abort();
}

void act(Point &point, const char *name, Action action)
{
    const char *action_name = point_actions[static_cast<std::size_t>(action)].data();
    call([&] { ereport(LOG, errmsg("point \"%s\": %s", name, action_name)); });
    switch (action) {
    case Action::none:
        break;
    case Action::error:
        HIPQ_RAISE(errcode(ERRCODE_INTERNAL_ERROR), errmsg("error at point \"%s\"", name));
    case Action::cancel:
        signal_myself(SIGINT);
        break;
    case Action::terminate:
        signal_myself(SIGTERM);
        break;
    case Action::exit:
        call([] { ::proc_exit(1); });
        break;
    case Action::abort:
        crash();
    case Action::kill:
        ::kill(MyProcPid, SIGKILL);
        break;
    case Action::wait:
        wait_at(point);
        break;
    }
}

}  // namespace

void prepare_points()
{
    const std::size_t size = point_names.size() * sizeof(Point);
    void *memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY),
                errmsg("could not map memory for points: %m"));
    points = static_cast<Point *>(memory);  // zeroed: no point is armed
}

void reach_point(std::size_t number)
{
    if (points == nullptr)
        return;
    Point &point = points[number];
    point.reached.fetch_add(1);
    const Action action = take_action(point);
    if (action == Action::none)
        return;
    point.fired.fetch_add(1);
    act(point, point_names[number].data(), action);
}

void arm_point(std::string_view name, std::string_view action, std::int32_t pass)
{
    const std::size_t number = number_in(point_names, name, "point");
    const std::size_t action_number = number_in(point_actions, action, "action");
    if (points == nullptr)
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("points need hipq to be preloaded"));
    points[number].held = static_cast<Action>(action_number) == Action::wait;
    points[number].armed = static_cast<std::uint32_t>(pass) << passages_shift |
                           static_cast<std::uint32_t>(action_number);
}

void reset_points()
{
    for (std::size_t i = 0; points != nullptr && i < point_names.size(); ++i) {
        points[i].armed = 0;
        points[i].held = false;
        points[i].waiting = 0;
        points[i].reached = 0;
        points[i].fired = 0;
    }
}

std::vector<PointState> list_points()
{
    std::vector<PointState> result;
    for (std::size_t i = 0; points != nullptr && i < point_names.size(); ++i) {
        const Point &point = points[i];
        result.push_back({point_names[i], point.reached.load(), point.fired.load(),
                          point_actions[point.armed.load() & action_mask], point.waiting.load()});
    }
    return result;
}

}  // namespace hipq::pg

#endif
