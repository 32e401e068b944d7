// Looks at the catalogues once something was found missing.
#include "misfit.hpp"

#include "core/named_in_sql.hpp"
#include "extension.hpp"

namespace hipq::pg {

namespace {

// A column of a partition is that of the table on top. PostgreSQL regime.
Oid top_of(Oid table)
{
    if (!::get_rel_relispartition(table))
        return table;
    List *ancestors = ::get_partition_ancestors(table);
    return ancestors == NIL ? table : llast_oid(ancestors);
}

// Of those that a statement names, the one that has lost the column; InvalidOid: it cannot be told.
Oid table_without(const core::NamedColumn &column, std::string_view sql)
{
    for (const core::NamedTable &named : core::tables_named_in(sql)) {
        if (!column.table.empty() && column.table != named.alias)
            continue;
        const Oid table = call([&] {
            const Oid found = ::get_relname_relid(named.name.c_str(), ::get_namespace_oid("hipq", true));
            const bool lacks = OidIsValid(found) && ::get_attnum(found, column.name.c_str()) == InvalidAttrNumber;
            return lacks ? found : InvalidOid;
        });
        if (OidIsValid(table))
            return table;
    }
    return InvalidOid;
}

}  // namespace

void require_fit(const std::string &problem)
{
    const std::string installed = installed_version().value_or("not installed");
    if (installed == HIPQ_VERSION)
        return;
    HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
               errmsg("the library of hipq and the extension in this database do not fit each other"),
               errdetail("The extension is version %s, the library %s: %s.", installed.c_str(), HIPQ_VERSION, problem.c_str()),
               errhint("Run ALTER EXTENSION hipq UPDATE, or restart the server when the old library is still loaded."));
}

void raise_missing_column(Oid table, const std::string &column)
{
    const bool is_hipqs = call([&] { return ::get_rel_namespace(table) == ::get_namespace_oid("hipq", true); });
    const char *relation = call([&] { return ::get_rel_name(top_of(table)); });
    const std::string name = (is_hipqs ? "hipq." : "") + std::string(relation == nullptr ? "?" : relation);
    if (is_hipqs)
        require_fit("table \"" + name + "\" has no column \"" + column + "\"");
    HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_COLUMN), errmsg("table \"%s\" has no column \"%s\"", name.c_str(), column.c_str()),
               is_hipqs ? errdetail("The tables of hipq are its own. Somebody has dropped or renamed this column.") : 0,
               is_hipqs ? errhint("Rename it back, or add it as %s defines it; what was in it has to come from a backup.",
                                  "hipq--" HIPQ_VERSION ".sql")
                        : errhint("The triggers of hipq are for its own tables."));
}

bool is_misfit(const Error &error, std::string_view sql)
{
    return error.internal_query() == sql;
}

void explain_misfit(const Error &error, std::string_view sql)
{
    require_fit(error.message());
    if (error.sqlerrcode() != ERRCODE_UNDEFINED_COLUMN || error.internal_position() < 1)
        return;
    const auto column = core::column_named_at(sql, static_cast<std::size_t>(error.internal_position()) - 1);
    if (const Oid table = table_without(column, sql); OidIsValid(table))
        raise_missing_column(table, column.name);
}

}  // namespace hipq::pg
