// Divides the limit: fair parts of the rest, in whole jobs, then one job each, beginning at the
// turn.
#include "core/shards/permit_targets.hpp"

#include <algorithm>
#include <numeric>

namespace hipq::core {

namespace {

// A division in progress.
class Division {
public:
    Division(Weight limit, const std::vector<PermitClaim> &claims, std::size_t turn)
        : limit_(limit), claims_(claims), turn_(turn), parts_(claims.size(), 0), left_(limit)
    {
    }

    void run()
    {
        while (give_fair_parts() || give_one_job_each()) {
        }
    }
    // Returns whether the claim at the turn wants to start a job, but could not start any.
    bool passes_the_turn_over() const
    {
        return turn_ < claims_.size() && parts_[turn_] < first_job(turn_);
    }
    void start_with_the_turn()
    {
        std::fill(parts_.begin(), parts_.end(), 0);
        left_ = limit_;
        give(turn_, first_job(turn_));
    }
    void leave_the_rest_where_it_is()
    {
        for (std::size_t i = 0; i < claims_.size(); ++i)
            give(i, std::clamp<Weight>(claims_[i].has - parts_[i], 0, left_));
    }
    std::vector<Weight> parts() && { return std::move(parts_); }

private:
    Weight want(std::size_t i) const { return std::min(claims_[i].want, limit_); }
    Weight missing(std::size_t i) const { return std::max<Weight>(want(i) - parts_[i], 0); }
    // 1 if no job waits: running jobs may end in any order, so the part may have any size.
    Weight unit(std::size_t i) const { return std::clamp<Weight>(claims_[i].unit, 1, limit_); }
    Weight first_job(std::size_t i) const
    {
        return claims_[i].unit == 0 ? 0 : std::min(unit(i), want(i));
    }
    bool can_use_more(std::size_t i) const
    {
        return missing(i) > 0 && std::min(unit(i), missing(i)) <= left_;
    }

    void give(std::size_t i, Weight weight)
    {
        parts_[i] += weight;
        left_ -= weight;
    }

    // Returns all that is wanted, or whole jobs.
    Weight whole_jobs(std::size_t i, Weight part) const
    {
        return part >= missing(i) ? missing(i) : part - part % unit(i);
    }

    bool give_fair_parts()
    {
        Weight count = 0;
        for (std::size_t i = 0; i < claims_.size(); ++i)
            count += can_use_more(i) ? 1 : 0;
        const Weight before = left_;
        for (std::size_t i = 0; i < claims_.size() && count > 0; ++i)
            if (missing(i) > 0 && std::min(unit(i), missing(i)) <= before)
                give(i, whole_jobs(i, before / count));
        return left_ < before;
    }

    bool give_one_job_each()
    {
        const Weight before = left_;
        for (std::size_t n = 0; n < claims_.size(); ++n) {
            const std::size_t i = (turn_ + n) % claims_.size();
            if (can_use_more(i))
                give(i, std::min(unit(i), missing(i)));
        }
        return left_ < before;
    }

    Weight limit_;
    const std::vector<PermitClaim> &claims_;
    std::size_t turn_;
    std::vector<Weight> parts_;
    Weight left_;
};

}  // namespace

std::vector<Weight> permit_targets(Weight limit, const std::vector<PermitClaim> &claims,
                                   std::size_t turn)
{
    Division division(std::max<Weight>(limit, 0), claims, turn);
    if (limit <= 0)
        return std::move(division).parts();
    division.run();
    if (division.passes_the_turn_over()) {
        division.start_with_the_turn();
        division.run();
    }
    division.leave_the_rest_where_it_is();
    return std::move(division).parts();
}

}  // namespace hipq::core
