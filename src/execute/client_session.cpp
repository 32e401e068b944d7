// Puts a client's session in order around handlers that run in it.
//
// It ends what they have put off: deferred constraints and open portals.
#include "execute/execute.hpp"

extern "C" {
#include "utils/portal.h"
}

namespace hipq::execute {

namespace {

// A name stands for all constraints of that name in its schema.
constinit pg::Statement initially_deferred(R"(
    SELECT string_agg(listed.name, ', ')
    FROM (
        SELECT format('%I.%I', schema.nspname, con.conname) AS name
        FROM pg_constraint AS con
        JOIN pg_namespace AS schema ON schema.oid = con.connamespace
        WHERE NOT pg_is_other_temp_schema(schema.oid)
        GROUP BY schema.nspname, con.conname
        HAVING bool_or(con.condeferred) AND bool_and(con.condeferrable)
    ) AS listed)");

constinit pg::Statement open_cursors("SELECT cursor.name FROM pg_catalog.pg_cursors AS cursor");

// ---- what was put off ----

// Deferred triggers fire; from then on none is deferred.
void fire_deferred_triggers()
{
    pg::run_as_caller("SET CONSTRAINTS ALL IMMEDIATE");
}

// The same where a trigger cannot put itself off by SET CONSTRAINTS, over and over: until there are
// none, or with an error. A second time, when nothing is left that could fire, because one may have
// said SET CONSTRAINTS and done nothing.
void fire_all_deferred_triggers()
{
    pg::as_restricted([] {
        fire_deferred_triggers();
        fire_deferred_triggers();
    });
}

// SET CONSTRAINTS ALL IMMEDIATE holds for the rest of the transaction: constraints are as at its
// beginning again. SET CONSTRAINTS of the client's is forgotten.
void defer_again()
{
    pg::as_extension_owner([] {
        if (const auto names = initially_deferred.run().front().maybe_text(0))
            pg::run_once("SET CONSTRAINTS " + *names + " DEFERRED");
    });
}

// ---- cursors ----

std::vector<std::string> names_of_cursors()
{
    std::vector<std::string> names;
    for (const pg::Row row : pg::as_extension_owner([] { return open_cursors.run(); }))
        names.push_back(row.text(0));
    return names;
}

// One that is active runs the statement that brought us here: nobody can fetch from it.
bool can_be_read(const std::string &cursor)
{
    return pg::call([&] {
        Portal portal = ::GetPortalByName(cursor.c_str());
        return PortalIsValid(portal) && portal->status != PORTAL_ACTIVE;
    });
}

// Of this subtransaction, those of others within it included: they come to belong to it.
void close_own_cursors()
{
    for (const std::string &name : names_of_cursors())
        pg::call([&] {
            Portal portal = ::GetPortalByName(name.c_str());
            if (PortalIsValid(portal) && portal->createSubid == ::GetCurrentSubTransactionId())
                ::PortalDrop(portal, false);
        });
}

}  // namespace

void refuse_open_cursors(const char *what)
{
    for (const std::string &name : names_of_cursors())
        if (can_be_read(name))
            HIPQ_RAISE(errcode(ERRCODE_INVALID_CURSOR_STATE),
                       errmsg("%s while cursor \"%s\" is open", what, name.c_str()),
                       errdetail("Code of other roles could read it."),
                       errhint("Close it, or leave the loop over its rows, first."));
}

void clear_the_way()
{
    fire_deferred_triggers();
    fire_all_deferred_triggers();
    defer_again();
    refuse_open_cursors("jobs cannot run");
}

HandlerVisit::HandlerVisit() : visit_(temporary_objects()) {}

void HandlerVisit::end() const
{
    fire_all_deferred_triggers();
    defer_again();
    close_own_cursors();
    drop_temporary_objects_but(visit_.clients_objects());
}

}  // namespace hipq::execute
