// Checks privileges on a queue, by its owner and the ACLs of its tables.
#include "catalog/rights.hpp"

namespace hipq::catalog {

namespace {

const char *name_of(Privilege privilege)
{
    switch (privilege) {
    case Privilege::enqueue:
        return "enqueue";
    case Privilege::work:
        return "work";
    case Privilege::read:
        return "read";
    case Privilege::operate:
        return "operate";
    case Privilege::control:
        return "control";
    }
    return "";
}

// The PostgreSQL right that stands for a privilege, on a whole table or on one of its columns.
struct Mark {
    AclMode mode;
    bool on_live_leaf;
    const char *column;  // null: the whole table
};

Mark mark_of(Privilege privilege)
{
    switch (privilege) {
    case Privilege::enqueue:
        return {ACL_INSERT, false, nullptr};
    case Privilege::read:
        return {ACL_SELECT, false, nullptr};
    case Privilege::work:
        return {ACL_UPDATE, false, "job_data"};
    case Privilege::operate:
        return {ACL_UPDATE, true, "scheduled_run_time"};
    case Privilege::control:
        return {ACL_UPDATE, true, "priority"};
    }
    return {0, false, nullptr};
}

// A table that has just been dropped grants nothing. Call inside pg::call() only.
bool has_mark(Oid role, Oid table, const Mark &mark)
{
    bool is_missing = false;
    if (::pg_class_aclcheck_ext(table, role, mark.mode, &is_missing) == ACLCHECK_OK)
        return true;
    const AttrNumber column =
        mark.column == nullptr ? InvalidAttrNumber : ::get_attnum(table, mark.column);
    return column != InvalidAttrNumber &&
           ::pg_attribute_aclcheck_ext(table, column, role, mark.mode, &is_missing) == ACLCHECK_OK;
}

}  // namespace

std::optional<Privilege> parse_privilege(std::string_view text)
{
    for (const Privilege privilege : all_privileges)
        if (text == name_of(privilege))
            return privilege;
    return std::nullopt;
}

bool may(Oid role, const Queue &queue, Privilege privilege)
{
    if (acts_as_owner(role, queue))
        return true;
    if (privilege == Privilege::operate && may(role, queue, Privilege::control))
        return true;
    const Mark mark = mark_of(privilege);
    const std::string table = mark.on_live_leaf ? queue.live_table() : queue.table;
    return pg::call([&] {
        const Oid schema = ::get_namespace_oid("hipq", true);
        const Oid relation =
            OidIsValid(schema) ? ::get_relname_relid(table.c_str(), schema) : InvalidOid;
        return OidIsValid(relation) && has_mark(role, relation, mark);
    });
}

bool has_any_right(Oid role, const Queue &queue)
{
    for (const Privilege privilege : all_privileges)
        if (may(role, queue, privilege))
            return true;
    return false;
}

bool acts_as_owner(Oid role, const Queue &queue)
{
    return pg::call([&] { return ::has_privs_of_role(role, queue.owner); });
}

const Queue &require_known_queue(const Catalogue &catalogue, std::string_view name)
{
    const Queue &queue = require_queue(catalogue, name);
    if (!has_any_right(caller(), queue))
        require_queue(Catalogue{}, name);
    return queue;
}

void require(const Queue &queue, Privilege privilege)
{
    if (may(caller(), queue, privilege))
        return;
    if (!has_any_right(caller(), queue))
        require_queue(Catalogue{}, queue.full_name());
    const std::string name = queue.full_name();
    HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
               errmsg("permission denied for queue \"%s\"", name.c_str()),
               errdetail("Privilege \"%s\" is needed.", name_of(privilege)),
               errhint("The queue owner can give it with hipq.grant_queue()."));
}

void require_to_carry(const Queue &from, const Queue &to)
{
    if (from.id == to.id)
        return;
    require(from, Privilege::read);
    require(to, Privilege::enqueue);
}

void require_owner(const Queue &queue)
{
    if (acts_as_owner(caller(), queue))
        return;
    if (!has_any_right(caller(), queue))
        require_queue(Catalogue{}, queue.full_name());
    const std::string name = queue.full_name();
    HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
               errmsg("must be owner of queue \"%s\"", name.c_str()));
}

Oid caller()
{
    return ::GetUserId();
}

}  // namespace hipq::catalog
