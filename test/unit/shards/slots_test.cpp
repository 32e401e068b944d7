// Slots: the published vectors, and the distribution of keys.
#include "core/shards/slots.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using namespace hipq::core;

namespace {

// ---- docs/reference/slots.md

struct Vector {
    std::string key;
    std::uint64_t hash;
    int slot;
};

// "61 62", or "78 * 64" for 64 times the same byte.
std::string key_of_bytes(const std::string &text)
{
    std::istringstream in(text);
    std::string key;
    std::string part;
    while (in >> part) {
        int times = 0;
        if (part == "*" && in >> times)
            key = std::string(static_cast<std::size_t>(times), key.back());
        else
            key += static_cast<char>(std::stoi(part, nullptr, 16));
    }
    return key;
}

std::vector<std::string> cells(const std::string &row)
{
    std::vector<std::string> result;
    std::istringstream in(row.substr(1));
    for (std::string cell; std::getline(in, cell, '|');)
        result.push_back(cell);
    return result;
}

std::vector<Vector> published_vectors()
{
    std::ifstream in(HIPQ_REFERENCE "/slots.md");
    std::vector<Vector> result;
    bool is_in_table = false;
    for (std::string line; std::getline(in, line);) {
        if (line.rfind("|---", 0) == 0 && is_in_table)
            continue;
        if (is_in_table && line.rfind("| ", 0) != 0)
            break;
        if (is_in_table) {
            const std::vector<std::string> cell = cells(line);
            result.push_back({key_of_bytes(cell.at(1)), std::stoull(cell.at(2), nullptr, 16),
                              std::stoi(cell.at(3))});
        }
        is_in_table = is_in_table || line == "| key | its bytes | hash | slot |";
    }
    return result;
}

// ---- distribution

// How far counts are from equal, in standard deviations of chi-square.
double deviation(const std::vector<int> &counts)
{
    double all = 0;
    for (const int each : counts)
        all += each;
    const double expected = all / static_cast<double>(counts.size());
    double chi_square = 0;
    for (const int each : counts)
        chi_square += (each - expected) * (each - expected) / expected;
    const double freedom = static_cast<double>(counts.size()) - 1;
    return (chi_square - freedom) / std::sqrt(2 * freedom);
}

// Keys as applications use them.
std::vector<std::string> keys(const std::string &kind, int count)
{
    std::vector<std::string> result;
    for (int i = 1; i <= count; ++i) {
        const std::string number = std::to_string(i);
        if (kind == "numbers")
            result.push_back(number);
        else if (kind == "tenants")
            result.push_back("tenant-" + number);
        else if (kind == "ends alike")
            result.push_back(number + "@example.com");
        else
            result.push_back(std::string(static_cast<std::size_t>(8 - number.size()), '0') +
                             number);
    }
    return result;
}

const std::vector<std::string> kinds{"numbers", "tenants", "ends alike", "padded"};

}  // namespace

TEST(Slots, are_those_of_the_published_vectors)
{
    const std::vector<Vector> vectors = published_vectors();
    ASSERT_GE(vectors.size(), 14U);
    for (const Vector &each : vectors) {
        EXPECT_EQ(shard_hash(each.key), each.hash) << each.key;
        EXPECT_EQ(slot_of(each.key), each.slot) << each.key;
    }
    const auto has = [&](std::size_t length) {
        return std::any_of(vectors.begin(), vectors.end(),
                           [&](const Vector &each) { return each.key.size() == length; });
    };
    EXPECT_TRUE(has(0)) << "an empty key";
    EXPECT_TRUE(has(1'000)) << "a long one";
}

TEST(Slots, see_every_byte_as_unsigned)
{
    EXPECT_NE(shard_hash("\xc3"), shard_hash("\x43"));
    EXPECT_NE(shard_hash(std::string("a\0b", 3)), shard_hash("a"));
}

TEST(Slots, are_filled_evenly_by_100000_keys_of_each_kind)
{
    for (const std::string &kind : kinds) {
        std::vector<int> counts(slot_count, 0);
        for (const std::string &key : keys(kind, 100'000))
            ++counts.at(static_cast<std::size_t>(slot_of(key)));
        EXPECT_LT(std::abs(deviation(counts)), 4) << kind;
    }
}

// A table of a node that is partitioned by the lower bits fills evenly, although all its keys are
// in slots of one node.
TEST(Slots, say_nothing_about_the_lower_bits)
{
    for (const std::string &kind : kinds)
        for (const std::uint64_t divisor : {7U, 64U, 100U, 256U}) {
            std::vector<int> counts(divisor, 0);
            for (const std::string &key : keys(kind, 400'000))
                if (slot_of(key) < slot_count / 4)
                    ++counts.at(shard_hash(key) % divisor);
            EXPECT_LT(std::abs(deviation(counts)), 4) << kind << " modulo " << divisor;
        }
}

// Each bit of the hash with each bit of the slot: all four combinations are equally frequent.
TEST(Slots, have_bits_that_depend_on_no_other_bit)
{
    const std::vector<std::string> some = keys("tenants", 100'000);
    std::vector<std::uint64_t> hashes;
    for (const std::string &key : some)
        hashes.push_back(shard_hash(key));
    for (int slot_bit = 52; slot_bit < 64; ++slot_bit)
        for (int bit = 0; bit < slot_bit; ++bit) {
            std::vector<int> counts(4, 0);
            for (const std::uint64_t hash : hashes)
                ++counts.at(((hash >> slot_bit) & 1) * 2 + ((hash >> bit) & 1));
            EXPECT_LT(deviation(counts), 8) << slot_bit << " beside " << bit;
        }
}
