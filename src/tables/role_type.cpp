// Type hipq.role: like regrole, except that it accepts a role that does not exist.
#include "pg/guard.hpp"

extern "C" {
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/varlena.h"
}

namespace hipq::tables {

namespace {

// PostgreSQL never assigns this OID to a role. Everything that belongs to this role waits, as with
// any other role that no longer exists.
constexpr Oid absent_role = 1;

// Whether the text is the name of a role that does not exist.
bool is_absent(const char *text)
{
    return pg::call([&] {
        List *names = NIL;
        if (std::strcmp(text, "-") == 0 || std::strspn(text, "0123456789") == std::strlen(text) ||
            !::SplitIdentifierString(::pstrdup(text), '.', &names) || list_length(names) != 1)
            return false;
        return !OidIsValid(::get_role_oid(static_cast<const char *>(linitial(names)), true));
    });
}

Oid read_role(char *text)
{
    if (!is_absent(text))
        return pg::call([&] {
            return DatumGetObjectId(DirectFunctionCall1(::regrolein, CStringGetDatum(text)));
        });
    pg::call([&] {
        ereport(WARNING, errmsg("role %s does not exist", text),
                errdetail("What is to run as this role waits: jobs of its queues, and schedules."),
                errhint("Give the queues another owner with hipq.alter_queue(owner => ...). Or "
                        "create the role first, and restore again."));
    });
    return absent_role;
}

}  // namespace

}  // namespace hipq::tables

HIPQ_FUNCTION(hipq__role_in)
{
    return ObjectIdGetDatum(hipq::tables::read_role(PG_GETARG_CSTRING(0)));
}
