// Runs the queries of monitoring/queries.yaml, and writes their results.
#include "metrics/open_metrics.hpp"

#include "hipq/client/connection.hpp"
#include "metrics/exposition.hpp"

namespace hipq::metrics {

namespace {

struct Query {
    std::string_view name;
    const char *sql;
    std::vector<Column> columns;
};

const std::vector<Query> &queries()
{
    static const std::vector<Query> all{
#include "metrics/queries.inc"
    };
    return all;
}

Labels labels_of(const Query &query, const client::Result &result, int row)
{
    Labels labels;
    for (const Column &column : query.columns)
        if (column.usage == Usage::label)
            labels.add(column.name, result.text(row, std::string(column.name).c_str()));
    return labels;
}

void add_value(Exposition &exposition, const Column &column, const Labels &labels,
               const client::Result &result, int row)
{
    const std::string name(column.name);
    const auto value = result.get(row, name.c_str());
    if (!value)
        return;
    if (column.usage != Usage::histogram)
        return exposition.add(labels, *value);
    exposition.add(labels, HistogramValues{*value, result.text(row, (name + "_bucket").c_str()),
                                           result.text(row, (name + "_sum").c_str()),
                                           result.text(row, (name + "_count").c_str())});
}

// A family for each column, with all its samples together.
void add_families(Exposition &exposition, const Query &query, const client::Result &result)
{
    std::vector<Labels> labels;
    labels.reserve(static_cast<std::size_t>(result.rows()));
    for (int row = 0; row < result.rows(); ++row)
        labels.push_back(labels_of(query, result, row));
    for (const Column &column : query.columns) {
        if (column.usage == Usage::label)
            continue;
        exposition.begin_family(std::string(query.name) + "_" + std::string(column.name),
                                column.usage, column.help);
        for (int row = 0; row < result.rows(); ++row)
            add_value(exposition, column, labels[static_cast<std::size_t>(row)], result, row);
    }
}

bool add_query(Exposition &exposition, PGconn *connection, const Query &query)
{
    try {
        add_families(exposition, query, client::run(connection, {query.sql, {}}));
        return true;
    } catch (const client::Error &error) {
        if (PQstatus(connection) != CONNECTION_OK || client::sqlstate::connection_is_lost(error))
            throw;
        return false;
    }
}

}  // namespace

std::string open_metrics(PGconn *connection)
{
    Exposition exposition;
    std::vector<std::pair<std::string_view, bool>> answered;
    for (const Query &query : queries())
        answered.emplace_back(query.name, add_query(exposition, connection, query));
    exposition.begin_family("hipq_metrics_failed", Usage::gauge,
                            "1: the role may not see these metrics, or the server has an error");
    for (const auto &[name, is_there] : answered) {
        Labels labels;
        labels.add("query", name);
        exposition.add(labels, is_there ? "0" : "1");
    }
    return exposition.finish();
}

}  // namespace hipq::metrics
