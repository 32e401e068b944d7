// Deconstructs and constructs arrays of jsonb.
#include "job/json_array.hpp"

namespace hipq::job {

std::vector<pg::RawValue> elements_of(pg::RawValue array)
{
    struct Elements {
        Datum *values;
        bool *nulls;
        int count;
    };
    const Elements elements = pg::call([&] {
        Elements found{};
        ::deconstruct_array(DatumGetArrayTypeP(array.value), JSONBOID, -1, false, TYPALIGN_INT,
                            &found.values, &found.nulls, &found.count);
        return found;
    });
    std::vector<pg::RawValue> result;
    result.reserve(static_cast<std::size_t>(elements.count));
    for (int i = 0; i < elements.count; ++i)
        result.push_back({JSONBOID, elements.values[i], elements.nulls[i]});
    return result;
}

pg::RawValue array_of(std::span<const pg::RawValue> elements)
{
    return pg::call([&] {
        auto *values = static_cast<Datum *>(::palloc(sizeof(Datum) * (elements.size() + 1)));
        std::transform(elements.begin(), elements.end(), values,
                       [](const pg::RawValue &element) { return element.value; });
        ArrayType *array = ::construct_array(values, static_cast<int>(elements.size()), JSONBOID,
                                             -1, false, TYPALIGN_INT);
        return pg::RawValue{JSONBARRAYOID, PointerGetDatum(array), false};
    });
}

}  // namespace hipq::job
