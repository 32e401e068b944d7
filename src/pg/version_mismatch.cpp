// Explains a missing name by the versions of library and extension.
//
// Reads the catalogs only after something was found missing.
#include "pg/version_mismatch.hpp"

#include "core/text/named_in_sql.hpp"
#include "pg/extension.hpp"

namespace hipq::pg {

namespace {

constexpr const char *script = "hipq--" HIPQ_VERSION ".sql";

// Returns the topmost table of a partition, whose columns it has. Call inside pg::call() only.
Oid top_of(Oid table)
{
    if (!::get_rel_relispartition(table))
        return table;
    List *ancestors = ::get_partition_ancestors(table);
    return ancestors == NIL ? table : llast_oid(ancestors);
}

struct Named {
    std::string name;  // for error messages
    bool is_hipqs;
};

Named name_of(Oid table)
{
    const bool is_hipqs =
        call([&] { return ::get_rel_namespace(table) == ::get_namespace_oid("hipq", true); });
    const char *name = call([&] { return ::get_rel_name(top_of(table)); });
    return {(is_hipqs ? "hipq." : "") + std::string(name == nullptr ? "?" : name), is_hipqs};
}

// Of the tables that a statement names, returns the one that lacks the column; InvalidOid: unknown.
Oid table_without(const core::NamedColumn &column, std::string_view sql)
{
    for (const core::NamedTable &named : core::tables_named_in(sql)) {
        if (!column.table.empty() && column.table != named.alias)
            continue;
        const Oid table = call([&] {
            const Oid found =
                ::get_relname_relid(named.name.c_str(), ::get_namespace_oid("hipq", true));
            const bool lacks =
                OidIsValid(found) && ::get_attnum(found, column.name.c_str()) == InvalidAttrNumber;
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
    HIPQ_RAISE(
        errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
        errmsg("the library of hipq and the extension in this database do not fit each other"),
        errdetail("The extension is version %s, the library %s: %s.", installed.c_str(),
                  HIPQ_VERSION, problem.c_str()),
        errhint("Run ALTER EXTENSION hipq UPDATE, or restart the server when the old library is "
                "still loaded."));
}

void raise_missing_column(Oid table, const std::string &column)
{
    const Named named = name_of(table);
    const char *name = named.name.c_str();
    if (!named.is_hipqs)
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_COLUMN),
                   errmsg("table \"%s\" has no column \"%s\"", name, column.c_str()),
                   errhint("The triggers of hipq are for its own tables."));
    require_fit("table \"" + named.name + "\" has no column \"" + column + "\"");
    HIPQ_RAISE(
        errcode(ERRCODE_UNDEFINED_COLUMN),
        errmsg("table \"%s\" has no column \"%s\"", name, column.c_str()),
        errdetail("The tables of hipq are its own. Somebody has dropped or renamed this column."),
        errhint(
            "Rename it back, or add it as %s defines it; what was in it has to come from a backup.",
            script));
}

void raise_other_type(Oid table, const std::string &column, Oid type, Oid expected)
{
    const Named named = name_of(table);
    const std::string is = call([&] { return ::format_type_be(type); });
    const std::string shall = call([&] { return ::format_type_be(expected); });
    const std::string problem = "column \"" + column + "\" of table \"" + named.name +
                                "\" is of type " + is + ", not " + shall;
    if (named.is_hipqs)
        require_fit(problem);
    HIPQ_RAISE(
        errcode(ERRCODE_DATATYPE_MISMATCH), errmsg("%s", problem.c_str()),
        errhint("The tables of hipq are its own. Give the column its type back, as %s defines it.",
                script));
}

bool is_version_mismatch(const Error &error, std::string_view sql)
{
    return error.internal_query() == sql;
}

void explain_version_mismatch(const Error &error, std::string_view sql)
{
    require_fit(error.message());
    if (error.sqlerrcode() != ERRCODE_UNDEFINED_COLUMN || error.internal_position() < 1)
        return;
    const auto column =
        core::column_named_at(sql, static_cast<std::size_t>(error.internal_position()) - 1);
    if (const Oid table = table_without(column, sql); OidIsValid(table))
        raise_missing_column(table, column.name);
}

}  // namespace hipq::pg
