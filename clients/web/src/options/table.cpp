// The options of hipq-web: the only list of them, for the command line and the help.
#include "options/options.hpp"
#include "options/values.hpp"

namespace hipq::web {

namespace {

std::vector<Option> make_table()
{
    using O = Options;
    using S = std::string;
    return {
        {"dbname", 'd', "CONNINFO", "the database: a URI, service=..., else PGHOST and so on",
         [](O &o, const S &value) { o.conninfo = value; }},
        {"listen", 'l', "HOST:PORT",
         "where it is served; a port alone: this machine only (127.0.0.1:8484)", set_address},
        {"behind-proxy", 0, "URL", "the address at which a proxy serves it to others, over TLS",
         set_origin},
        {"service", 's', "",
         "shows everybody what the role of --dbname sees, read-only, without signing in",
         [](O &o, const S &) { o.is_service = true; }},
        {"idle", 0, "MINUTES", "a session ends that is not used for so long (30)",
         [](O &o, const S &value) {
             o.idle = std::chrono::minutes(read_number(value, 1, 1'000'000));
         }},
        {"lifetime", 0, "HOURS", "a session ends after so long in any case (12)",
         [](O &o, const S &value) {
             o.lifetime = std::chrono::hours(read_number(value, 1, 10'000));
         }},
        {"max-sessions", 0, "N", "how many may be signed in, each with a connection (50)",
         [](O &o, const S &value) { o.max_sessions = read_number(value, 1, 10'000); }},
        {"page", 0, "FOLDER", "the files of the page, if not those that are installed",
         [](O &o, const S &value) { o.page = value; }},
        {"help", 'h', "", "prints this", [](O &o, const S &) { o.help = true; }},
        {"version", 'V', "", "prints the version", [](O &o, const S &) { o.version = true; }},
    };
}

}  // namespace

const std::vector<Option> &option_table()
{
    static const std::vector<Option> table = make_table();
    return table;
}

std::string help_text()
{
    const std::string text =
        "hipq-web serves the web page of hipq, the job queue of a PostgreSQL database.\n\n"
        "  hipq-web --dbname \"host=db.example.com dbname=shop\" --listen 8484\n\n"
        "One signs in with one's role of PostgreSQL and sees and does what that may.\n\nOptions:\n";
    return text + program::help_lines(option_table()) +
           "\nThe manual is docs/hipq-web.md, and man hipq-web.\n";
}

}  // namespace hipq::web
