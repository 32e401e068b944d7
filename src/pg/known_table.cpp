// Caches the tables of schema hipq by name.
//
// A small cache: each name has a single slot.
#include "pg/known_table.hpp"

extern "C" {
#include "common/hashfn.h"
}

namespace hipq::pg {

namespace {

constinit std::array<KnownTable, 64> known{};
constinit std::uint64_t invalidations = 0;
constinit KnownTable passing{};  // read while an invalidation arrived: valid once

KnownTable &place_of(const char *name)
{
    const std::uint32_t hash = ::hash_bytes(reinterpret_cast<const unsigned char *>(name),
                                            static_cast<int>(std::strlen(name)));
    return known[hash % known.size()];
}

}  // namespace

KnownTable *known_table(const char *name)
{
    KnownTable &place = place_of(name);
    if (OidIsValid(place.oid) && std::strcmp(NameStr(place.name), name) == 0)
        return &place;
    const std::uint64_t before = invalidations;
    const Oid oid = ::get_relname_relid(name, ::get_namespace_oid("hipq", false));
    if (!OidIsValid(oid))
        return nullptr;
    const Oid row_type = ::get_rel_type_id(oid);
    KnownTable &table = invalidations == before ? place : passing;
    table = KnownTable{{}, oid, row_type};
    ::namestrcpy(&table.name, name);
    return &table;
}

void forget_known_table(Oid relation) noexcept
{
    ++invalidations;
    for (KnownTable &table : known)
        if (!OidIsValid(relation) || table.oid == relation)
            table = KnownTable{};
}

}  // namespace hipq::pg
