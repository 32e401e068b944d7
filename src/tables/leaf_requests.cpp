// Keeps the requests for leaves: an array of atomic words without a lock, because finishing a job
// writes to it.
#include "tables/leaf_requests.hpp"

namespace hipq::tables {

namespace {

// Further queues get their leaves in the next pass of maintenance.
constexpr std::size_t max_requests = 128;

constexpr std::uint64_t is_answered = 1;

// Database, queue, and whether the leaves exist; 0: free. A queue's number has 31 bits.
using Word = pg_atomic_uint64;
using Words = std::array<Word, max_requests>;
constinit Words *words = nullptr;

std::uint64_t request_for(Oid database, int queue_id)
{
    return std::uint64_t{database} << 32 | static_cast<std::uint64_t>(queue_id) << 1;
}

Oid database_of(std::uint64_t request)
{
    return static_cast<Oid>(request >> 32);
}

int queue_of(std::uint64_t request)
{
    return static_cast<int>((request & 0xFFFF'FFFF) >> 1);
}

bool put(std::uint64_t request) noexcept
{
    for (Word &word : *words) {
        std::uint64_t expected = 0;
        if (::pg_atomic_read_u64(&word) == 0 &&
            ::pg_atomic_compare_exchange_u64(&word, &expected, request))
            return true;
    }
    return false;
}

bool is_there(std::uint64_t request) noexcept
{
    return std::ranges::any_of(*words, [&](Word &word) {
        return (::pg_atomic_read_u64(&word) & ~is_answered) == request;
    });
}

void forget_requests_of(Oid database) noexcept
{
    for (Word &word : *words) {
        std::uint64_t request = ::pg_atomic_read_u64(&word);
        if (request != 0 && database_of(request) == database)
            (void)::pg_atomic_compare_exchange_u64(&word, &request, 0);
    }
}

void request_memory()
{
    ::RequestAddinShmemSpace(sizeof(Words));
}

void set_up()
{
    bool found = false;
    words = static_cast<Words *>(::ShmemInitStruct("hipq leaf requests", sizeof(Words), &found));
    if (!found)
        for (Word &word : *words)
            ::pg_atomic_init_u64(&word, 0);
}

}  // namespace

bool ask_for_leaves(int queue_id) noexcept
{
    if (words == nullptr)
        return false;
    const std::uint64_t request = request_for(MyDatabaseId, queue_id);
    return !is_there(request) && put(request);
}

std::vector<int> requested_leaves()
{
    std::vector<int> queues;
    for (Word &word : *words)
        if (const std::uint64_t request = ::pg_atomic_read_u64(&word);
            database_of(request) == MyDatabaseId && (request & is_answered) == 0)
            queues.push_back(queue_of(request));
    return queues;
}

void leaves_are_made(int queue_id) noexcept
{
    const std::uint64_t request = request_for(MyDatabaseId, queue_id);
    for (Word &word : *words) {
        std::uint64_t expected = request;
        (void)::pg_atomic_compare_exchange_u64(&word, &expected, request | is_answered);
    }
}

void forget_answered_requests() noexcept
{
    for (Word &word : *words) {
        std::uint64_t request = ::pg_atomic_read_u64(&word);
        if (database_of(request) == MyDatabaseId && (request & is_answered) != 0)
            (void)::pg_atomic_compare_exchange_u64(&word, &request, 0);
    }
}

constinit const memory::Part leaf_requests_part{request_memory, set_up, nullptr,
                                                forget_requests_of};

}  // namespace hipq::tables
