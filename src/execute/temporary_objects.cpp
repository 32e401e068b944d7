// Drops temporary objects that a handler left, and what depends on them.
#include "execute/temporary_objects.hpp"

#include "pg/transaction.hpp"

namespace hipq::execute {

namespace {

// Members of the temporary schema themselves; or these and all that depends on them.
constinit pg::Statement members(R"(
    SELECT depend.classid, depend.objid
    FROM pg_depend AS depend
    WHERE depend.refclassid = 'pg_namespace'::regclass AND depend.refobjid = pg_my_temp_schema() AND depend.refobjid <> 0)");
constinit pg::Statement members_and_dependants(R"(
    WITH RECURSIVE object (classid, objid) AS (
        SELECT depend.classid, depend.objid
        FROM pg_depend AS depend
        WHERE depend.refclassid = 'pg_namespace'::regclass AND depend.refobjid = pg_my_temp_schema() AND depend.refobjid <> 0
        UNION
        SELECT depend.classid, depend.objid
        FROM object
        JOIN pg_depend AS depend ON depend.refclassid = object.classid AND depend.refobjid = object.objid
    )
    SELECT classid, objid FROM object)");

Objects objects_of(pg::Statement &statement)
{
    Objects objects;
    for (const pg::Row row : pg::as_extension_owner([&] { return statement.run(); }))
        objects.emplace(row.oid(0), row.oid(1));
    return objects;
}

// Drops an object, and what has come to depend on it.
void drop(Oid catalogue, Oid object)
{
    pg::call([&] {
        const ObjectAddress address{catalogue, object, 0};
        ::performDeletion(&address, DROP_CASCADE,
                          PERFORM_DELETION_INTERNAL | PERFORM_DELETION_QUIETLY);
        ::CommandCounterIncrement();
    });
}

}  // namespace

Objects temporary_objects()
{
    return objects_of(members_and_dependants);
}

void drop_temporary_objects_but(const Objects &clients)
{
    const auto find_strange = [&](const Objects &objects) {
        return std::find_if(objects.begin(), objects.end(),
                            [&](const auto &each) { return !clients.contains(each); });
    };
    // Drop one at a time: the next may have been dropped together with this one.
    for (Objects left = objects_of(members); find_strange(left) != left.end();
         left = objects_of(members)) {
        const auto [catalogue, object] = *find_strange(left);
        drop(catalogue, object);
    }
    if (temporary_objects() != clients)
        refuse_change_of_temporary_objects();
}

void refuse_change_of_temporary_objects()
{
    HIPQ_RAISE(
        errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
        errmsg("a handler cannot change temporary objects of the client in whose session it runs"),
        errhint("It can make its own, which end with it."));
}

}  // namespace hipq::execute
