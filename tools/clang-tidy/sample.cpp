// One line for each kind of problem that `make tidy` must find, with the name of the check. It is
// included in a unit, as the sources of a room are; "by itself" marks what only DEEP=1 finds. Not
// part of hipq.
#include "pg/postgres.hpp"
#include "pg/guard.hpp"

#include <utility>

namespace hipq {

namespace {

using std::move;      // finds by itself: misc-unused-using-decls
typedef int BlockNo;  // finds: modernize-use-using

struct Base {
    virtual ~Base() {}  // finds: modernize-use-equals-default
    virtual BlockNo block() const { return 0; }
};

struct Derived : Base {
    virtual BlockNo block() const { return 1; }  // finds: modernize-use-override
};

// From PostgreSQL's and C++'s headers, which clang-tidy does not check.
extern "C" bool IsOurs(const Relation relation)  // finds: readability-identifier-naming
{
    return RelationIsValid(relation) && relation->rd_rel->relnatts > 0;
}

int count(std::vector<std::string> names)
{
    int total = names.size() == 0 ? 0 : 1;  // finds: readability-container-size-empty
    for (const std::string name : names)    // finds: performance-for-range-copy
        total += static_cast<int>(name.size());
    std::string first = names.front();
    names.push_back(std::string("last"));  // finds: modernize-use-emplace
    const std::string moved = std::move(first);
    total += static_cast<int>(
        first.size());  // finds: bugprone-use-after-move clang-analyzer-cplusplus.Move
    int *missing = 0;   // finds: modernize-use-nullptr
    if (total > 3)
        *missing = 1;                  // finds: clang-analyzer-core.NullDereference
    const int *lost = new int(total);  // finds: clang-analyzer-cplusplus.NewDeleteLeaks
                                       // finds: clang-analyzer-deadcode.DeadStores
    return total + static_cast<int>(moved.size());
}

void raise_for(const std::string &name)
{
    pg::call([&] {
        const std::string copy = name + "!";  // finds: hipq-no-destructor-in-call
        ereport(ERROR, errmsg("%s", copy.c_str()));
    });
}

}  // namespace

int sample()
{
    raise_for("name");
    return Derived().block() + static_cast<int>(IsOurs(nullptr)) + count({});
}

}  // namespace hipq
