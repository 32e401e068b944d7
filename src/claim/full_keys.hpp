// The throttle keys under which a reading of a lane has found no capacity, or no turn.
#pragma once

#include "claim/claim.hpp"
#include "claim/lane_rows.hpp"

namespace hipq::claim {

class FullKeys {
public:
    FullKeys(Claimer &claimer, const Lane &lane, pg::Time now);

    bool any() const { return !keys_.empty(); }
    bool contains(std::uint64_t throttle_key) const { return keys_.contains(throttle_key); }
    // When to look at the key again, at the latest.
    pg::Time again(std::uint64_t throttle_key) const { return keys_.at(throttle_key).again; }

    // Whether a job has capacity and a turn under its throttle key. Once a key is full, all further
    // jobs of that key wait too.
    bool admits(core::Weight weight, std::uint64_t throttle_key);
    // Whether a parked key was full at the last look, by any process, and no capacity has become
    // available since: then its rows need not be read.
    bool are_known_to_have(std::uint64_t throttle_key);

    // A row of a full key is passed over. park() parks the keys of all these rows; call it before
    // the reading ends, so that no row is in no place, and stand() afterwards.
    void pass_over(const LaneRow &row);
    void park(lanes::LaneReading &reading) const;
    void stand() const;

private:
    struct Key {
        pg::Time again;
        core::KeyRange rows{core::lane_end, core::lane_start};  // to be parked
    };

    bool is_limited() const { return limit_ >= core::weight_unit; }
    bool has_turn(core::Weight weight, std::uint64_t throttle_key);
    bool has_capacity(core::Weight weight, std::uint64_t throttle_key);
    bool fits_in_batch(core::Weight weight, std::uint64_t throttle_key);

    Claimer &claimer_;
    const Lane &lane_;
    pg::Time now_;
    std::uint64_t type_;
    core::Weight limit_ = core::no_weight_limit;
    core::Rate rate_{};
    std::map<std::uint64_t, Key> keys_{};
    std::map<std::uint64_t, core::Weight> in_batch_{};  // for each throttle key, the weight of this
                                                        // prefetched batch's jobs, which run at
                                                        // once
    std::int64_t passed_over_ = 0;
};

}  // namespace hipq::claim
