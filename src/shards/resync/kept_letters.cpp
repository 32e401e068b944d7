// Compares the letters that a node keeps with those that another one has received.
//
// Both compute sums of their letters in portions of 4,096 numbers. Only where the sums differ are
// letters listed one by one.
#include "shards/resync/kept_letters.hpp"

#include "pg/quote.hpp"

#include <charconv>

namespace hipq::shards {

namespace {

// A letter is named by its number and the time at which it was written, here in microseconds.
constexpr const char *name_of_letter = "id, (extract(epoch FROM sent_time) * 1000000)::bigint";

std::string portion_is_in(const std::string &portions)
{
    return "id >> 12 IN (SELECT portion.value::bigint FROM "
           "pg_catalog.jsonb_array_elements_text(" +
           pg::quote_literal(portions) + ") AS portion (value))";
}

std::string outbox(const Line &line)
{
    return "hipq.shard_outbox AS letter WHERE letter.instance = " +
           pg::quote_literal(line.instance) + " AND letter.sender = " + std::to_string(line.from) +
           " AND letter.node = " + std::to_string(line.to);
}

std::string kept(const Line &line)
{
    return outbox(line) + " AND letter.sent_time >= " + pg::quote_literal(line.since);
}

std::string received(const Line &line)
{
    return "hipq.shard_received AS letter WHERE letter.instance = " +
           pg::quote_literal(line.instance) + " AND letter.sender = " + std::to_string(line.from);
}

// Counts alone would not be enough: the receiver may have letters that are not kept, such as those
// from before the shard was created, and lack as many others.
std::string counted(const std::string &letters)
{
    return "(SELECT id >> 12 AS portion, concat_ws(' ', count(*), sum(id), "
           "sum((extract(epoch FROM sent_time) * 1000000)::bigint)) AS letters FROM " +
           letters + " GROUP BY 1) AS counted";
}

// Returns the portions, a JSON array, in which the two do not have the same letters, except
// portions before the oldest kept letter.
std::string portions_that_differ(const Line &line)
{
    const std::string counts = first_of(
        line.ask_receiver("SELECT coalesce(jsonb_object_agg(portion, letters), '{}')::text FROM " +
                          counted(received(line))));
    return first_of(line.ask_sender(
        "SELECT coalesce(jsonb_agg(portion), '[]')::text FROM " + counted(kept(line)) +
        " FULL JOIN (SELECT known.key::bigint AS portion, known.value AS letters FROM "
        "pg_catalog.jsonb_each_text(" +
        pg::quote_literal(counts) +
        ") AS known (key, value)) AS known USING (portion) WHERE counted.letters IS DISTINCT FROM "
        "known.letters AND portion >= (SELECT min(id) >> 12 FROM " +
        kept(line) + ")"));
}

// Returns the letters in these portions, as a JSON array of names.
std::string names_received(const Line &line, const std::string &portions)
{
    return first_of(line.ask_receiver("SELECT coalesce(jsonb_agg(jsonb_build_array(" +
                                      std::string(name_of_letter) + ")), '[]')::text FROM " +
                                      received(line) + " AND " + portion_is_in(portions)));
}

// FROM these names.
std::string from_names(const std::string &names)
{
    return " FROM pg_catalog.jsonb_array_elements(" + pg::quote_literal(names) +
           ") AS name (value)";
}

std::int64_t number_of(const std::string &text)
{
    std::int64_t number = 0;
    (void)std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

// "57 jobs {...}"
KeptLetter parse(const std::string &text)
{
    const std::size_t end_of_id = text.find(' ');
    const std::size_t end_of_kind = text.find(' ', end_of_id + 1);
    KeptLetter letter{0, text.substr(end_of_id + 1, end_of_kind - end_of_id - 1),
                      text.substr(end_of_kind + 1)};
    letter.id = number_of(text.substr(0, end_of_id));
    return letter;
}

}  // namespace

// A node that has received a letter has received all before it, and deleted letters are older than
// kept ones. So one letter that is kept and was received is enough. It may be from before the shard
// was created, or the oldest kept letter may never have gone to it, because its slot did not exist
// yet.
bool are_all_kept(const Line &line)
{
    const std::string oldest =
        first_of(line.ask_sender("SELECT min(id)::text FROM " + outbox(line)));
    if (oldest.empty())
        return true;
    const std::string first = first_of(line.ask_receiver(
        "SELECT jsonb_build_array(" + std::string(name_of_letter) + ")::text FROM " +
        received(line) + " AND id >= " + oldest +
        (line.whole.has_value() ? " AND id <= " + std::to_string(*line.whole) : "") +
        " ORDER BY id LIMIT 1"));
    return !first.empty() &&
           first_of(line.ask_sender(
               "SELECT EXISTS (SELECT FROM " + outbox(line) + " AND jsonb_build_array(" +
               name_of_letter + ") = " + pg::quote_literal(first) + "::jsonb AND id = (" +
               pg::quote_literal(first) + "::jsonb ->> 0)::bigint)::text")) == "true";
}

std::vector<KeptLetter> unread_letters(const Line &line)
{
    const std::string portions = portions_that_differ(line);
    const std::string names = names_received(line, portions);
    std::vector<KeptLetter> letters;
    for (const std::string &text : line.ask_sender(
             "SELECT letter.id || ' ' || letter.kind || ' ' || to_jsonb(letter) FROM " +
             kept(line) + " AND " + portion_is_in(portions) + " AND jsonb_build_array(" +
             name_of_letter + ") NOT IN (SELECT name.value" + from_names(names) +
             ") ORDER BY letter.id"))
        letters.push_back(parse(text));
    return letters;
}

std::int64_t letters_that_sender_forgot(const Line &line)
{
    const std::string portions = portions_that_differ(line);
    const std::string names = names_received(line, portions);
    return number_of(first_of(
        line.ask_sender("SELECT count(*)::text" + from_names(names) +
                        " WHERE (name.value ->> 0)::bigint >= (SELECT min(id) FROM " + kept(line) +
                        ") AND name.value NOT IN (SELECT jsonb_build_array(" + name_of_letter +
                        ") FROM " + kept(line) + " AND " + portion_is_in(portions) + ")")));
}

std::int64_t newest_read(const Line &line)
{
    return number_of(
        first_of(line.ask_receiver("SELECT coalesce(max(id), 0)::text FROM " + received(line))));
}

}  // namespace hipq::shards
