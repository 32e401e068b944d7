// A worker in C++ whose jobs fail in all ways: with each text of errors.json, and its own.
#include <hipq/client.hpp>

#include <fstream>
#include <sstream>

using namespace hipq::client;

namespace {

// As bytes, in a file of that name.
std::string text_of(const std::string &name)
{
    std::ostringstream text;
    text << std::ifstream(std::string(std::getenv("ERROR_TEXTS")) + "/" + name).rdbuf();
    return text.str();
}

class SaysNothing : public std::exception {
public:
    const char *what() const noexcept override { return nullptr; }
};

using Way = std::function<Json()>;

template <typename Thrown>
Way thrower(Thrown thrown)
{
    return [thrown]() -> Json { throw thrown; };
}

const std::map<std::string, Way> ways{
    {"no exception", thrower(5)},
    {"null", thrower(nullptr)},
    {"what() is null", thrower(SaysNothing())},
    {"what() is empty", thrower(std::runtime_error(""))},
    {"what() has NUL", thrower(std::runtime_error(std::string("a\0b", 3)))},
    {"what() is no UTF-8", thrower(std::runtime_error("\xFF\xC0\x80"))},
    {"what() is long", thrower(std::runtime_error(std::string(2'000'000, 'x')))},
    {"a code", thrower(Error("x", "HQ003"))},
    {"a lost connection", thrower(Error("x"))},
    {"permanent of nothing", thrower(Permanent(""))},
    {"another job's end", thrower(AttemptOver(1, 1))},
    {"a delay", thrower(Release("soon"))},
    {"a retry after nothing", thrower(RetryAfter("soon", "\xFF"))},
    {"a retry after no UTF-8", thrower(RetryAfter("\xFF", "\xE2\x82\xAC"))},
    {"a delay with NUL", thrower(Release(std::string("\0", 1)))},
    {"a delay that is no UTF-8", thrower(Release("\xFF"))},
    {"result: NUL", [] { return Json(std::string("\0", 1)); }},
    {"result: discarded", [] { return Json::parse("{", nullptr, false); }},
    {"result: too large", [] { return Json(std::string(1'100'000, 'x')); }}};

std::vector<Ending> run_jobs(const Jobs &jobs)
{
    const Job &job = jobs.front();
    const std::string how = job.data.at("how");
    const std::string name = job.data.at("name");
    if (how == "text" || how == "permanent")
        return {Failure{text_of(name), how == "text"}};
    if (how == "way")
        return {ways.at(name)()};
    Json names = Json::array();
    for (const auto &[way, raise] : ways)
        names.push_back(way);
    return {names};
}

}  // namespace

int main()
{
    Worker({.name = "errors", .queues = {"app.errors"}}).batch("fail", run_jobs, 1).run();
}
