// Deconstructs and constructs arrays of jsonb.
#include "pg/json_array.hpp"

namespace hipq::pg {

std::vector<RawValue> elements_of(RawValue array)
{
    struct Elements {
        Datum *values;
        bool *nulls;
        int count;
    };
    const Elements elements = call([&] {
        Elements found{};
        ::deconstruct_array(DatumGetArrayTypeP(array.value), JSONBOID, -1, false, TYPALIGN_INT,
                            &found.values, &found.nulls, &found.count);
        return found;
    });
    std::vector<RawValue> result;
    result.reserve(static_cast<std::size_t>(elements.count));
    for (int i = 0; i < elements.count; ++i)
        result.push_back({JSONBOID, elements.values[i], elements.nulls[i]});
    return result;
}

RawValue array_of(std::span<const RawValue> elements)
{
    return call([&] {
        auto *values = static_cast<Datum *>(::palloc(sizeof(Datum) * (elements.size() + 1)));
        std::transform(elements.begin(), elements.end(), values,
                       [](const RawValue &element) { return element.value; });
        ArrayType *array = ::construct_array(values, static_cast<int>(elements.size()), JSONBOID,
                                             -1, false, TYPALIGN_INT);
        return RawValue{JSONBARRAYOID, PointerGetDatum(array), false};
    });
}

}  // namespace hipq::pg
