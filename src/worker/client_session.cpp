// SET CONSTRAINTS, and the portals of a subtransaction.
#include "client_session.hpp"

#include "pg/spi.hpp"

extern "C" {
#include "utils/portal.h"
}

namespace hipq::worker {

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

// SET CONSTRAINTS ALL IMMEDIATE holds for the rest of the transaction.
void defer_again()
{
    pg::as_extension_owner([] {
        if (const auto names = initially_deferred.run().front().maybe_text(0))
            pg::run_once("SET CONSTRAINTS " + *names + " DEFERRED");
    });
}

// Of this subtransaction, those of others within it included: they come to belong to it.
void close_own_cursors()
{
    for (const pg::Row row : open_cursors.run()) {
        const std::string name = row.text(0);
        pg::call([&] {
            Portal portal = ::GetPortalByName(name.c_str());
            if (PortalIsValid(portal) && portal->createSubid == ::GetCurrentSubTransactionId())
                ::PortalDrop(portal, false);
        });
    }
}

constinit pg::Statement objects_of_session(R"(
    SELECT depend.classid, depend.objid
    FROM pg_depend AS depend
    WHERE depend.refclassid = 'pg_namespace'::regclass AND depend.refobjid = pg_my_temp_schema() AND depend.refobjid <> 0)");

// With what has come to depend on it.
void drop(Oid object, Oid catalogue)
{
    pg::call([&] {
        const ObjectAddress address{catalogue, object, 0};
        ::performDeletion(&address, DROP_CASCADE, PERFORM_DELETION_INTERNAL | PERFORM_DELETION_QUIETLY);
        ::CommandCounterIncrement();
    });
}

}  // namespace

void fire_deferred_triggers()
{
    pg::run_once("SET CONSTRAINTS ALL IMMEDIATE");
    defer_again();
}

HandlerVisit::Objects HandlerVisit::temporary_objects()
{
    Objects objects;
    for (const pg::Row row : pg::as_extension_owner([] { return objects_of_session.run(); }))
        objects.emplace(row.oid(1), row.oid(0));
    return objects;
}

HandlerVisit::HandlerVisit() : clients_(temporary_objects()) {}

void HandlerVisit::end() const
{
    fire_deferred_triggers();
    close_own_cursors();
    // One may have gone with another.
    for (Objects left = temporary_objects(); left != clients_; left = temporary_objects()) {
        const auto own = std::find_if(left.begin(), left.end(), [&](const auto &each) { return !clients_.contains(each); });
        if (own == left.end())  // the handler has dropped one of the client's
            return;
        drop(own->first, own->second);
    }
}

}  // namespace hipq::worker
