// Prepares a client's session for handlers that run in it, and restores it after them.
//
// It ends what handlers leave pending: deferred constraints and open portals.
#include "execute/execute.hpp"

extern "C" {
#include "utils/portal.h"
}

namespace hipq::execute {

namespace {

// Names for SET CONSTRAINTS, which takes a name to mean all constraints of that name in the schema.
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

// ---- deferred triggers ----

// Deferred triggers fire now; from then on none is deferred.
void fire_deferred_triggers()
{
    pg::run_as_caller("SET CONSTRAINTS ALL IMMEDIATE");
}

// Does the same where a trigger cannot defer itself again by SET CONSTRAINTS: triggers fire over
// and over, until there are none, or one raises an error. The second call runs when no trigger is
// left to fire: a trigger of the first may have executed SET CONSTRAINTS and deferred nothing.
void fire_all_deferred_triggers()
{
    pg::as_restricted([] {
        fire_deferred_triggers();
        fire_deferred_triggers();
    });
}

// SET CONSTRAINTS ALL IMMEDIATE holds for the rest of the transaction. Sets constraints back to the
// modes they had at its beginning; a SET CONSTRAINTS of the client is lost.
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

// An active cursor runs the statement that called hipq: other code cannot fetch from it.
bool can_be_read(const std::string &cursor)
{
    return pg::call([&] {
        Portal portal = ::GetPortalByName(cursor.c_str());
        return PortalIsValid(portal) && portal->status != PORTAL_ACTIVE;
    });
}

// Closes the cursors of this subtransaction, including those of subtransactions within it, which
// become its own when these end.
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
