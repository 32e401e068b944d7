// Changes to shared memory that the current transaction makes when it commits; they are forgotten
// when it, or the savepoint under which they were noted, is rolled back.
//
// The callbacks at the end of a transaction allocate nothing and cannot fail.
#pragma once

#include "pg/postgres.hpp"

#include <vector>

namespace hipq::memory {

template <class Note>
class TransactionNotes {
public:
    void add(const Note &note) { notes_.push_back({note, ::GetCurrentSubTransactionId()}); }
    bool empty() const { return notes_.empty(); }
    void forget() noexcept { notes_.clear(); }
    template <class Predicate>
    void forget_if(const Predicate &predicate) noexcept
    {
        std::erase_if(notes_, [&](const Noted &noted) { return predicate(noted.note); });
    }
    // Makes room, so that the next `count` notes allocate nothing.
    void reserve(std::size_t count) { notes_.reserve(notes_.size() + count); }
    bool has_any_of(SubTransactionId id) const
    {
        return std::ranges::any_of(notes_,
                                   [&](const Noted &noted) { return noted.subtransaction == id; });
    }

    template <class Predicate>
    bool any(const Predicate &predicate) const
    {
        return std::ranges::any_of(notes_,
                                   [&](const Noted &noted) { return predicate(noted.note); });
    }

    template <class CarryOut>
    void carry_out(const CarryOut &carry_out)
    {
        for (Noted &noted : notes_)
            carry_out(noted.note);
    }

    // The latest first; only those of a subtransaction, if one is given.
    template <class CarryOut>
    void carry_out_backwards(const CarryOut &carry_out,
                             SubTransactionId only = InvalidSubTransactionId)
    {
        for (std::size_t i = notes_.size(); i-- > 0;)
            if (only == InvalidSubTransactionId || notes_[i].subtransaction == only)
                carry_out(notes_[i].note);
    }

    // Call from a SubXactCallback.
    void end_subtransaction(SubXactEvent event, SubTransactionId id,
                            SubTransactionId parent) noexcept
    {
        if (event == SUBXACT_EVENT_ABORT_SUB)
            std::erase_if(notes_, [&](const Noted &noted) { return noted.subtransaction == id; });
        else if (event == SUBXACT_EVENT_COMMIT_SUB)
            for (Noted &noted : notes_)
                noted.subtransaction = noted.subtransaction == id ? parent : noted.subtransaction;
    }

private:
    struct Noted {
        Note note;
        SubTransactionId subtransaction;
    };
    std::vector<Noted> notes_;
};

}  // namespace hipq::memory
