// Finds the node that has a job, and has it do there what was called here.
#pragma once

#include "catalog/catalog.hpp"
#include "nodes/answer.hpp"

namespace hipq::nodes {

enum class Place : unsigned char {
    elsewhere,  // another node has answered
    nowhere,    // all that could have it have not
    held,       // here, until its key is free at the node that had its slot
    unknown,    // not all that could have it could be heard
};

struct Found {
    Place place = Place::nowhere;
    std::string answer{};      // elsewhere: JSON, or text, as answer.cpp has it for the function
    std::string node{};        // elsewhere: shard 2 of instance "app"
    std::string reason{};      // held, unknown: a sentence; nowhere: one if it is known why
    std::string log{};         // unknown: what the server's log says beside
    bool keeps_order = false;  // held: for the order of its queue, not for its key
};

// Passes a call on to the node that has its job, of which this node knows nothing. Does nothing in
// a database without sharded instances. Raises what that node raises; 42P08 if nodes of two
// instances have such a job.
//
// What another node does is done at once, whatever becomes of the transaction at hand.
Found search(const catalog::Catalogue &catalogue, const Call &call);

// The same for who wants an answer: that, or nothing if no node has the job. Raises HQ503 if
// that is not certain, 55P03 while the job is held.
std::optional<std::string> call(const catalog::Catalogue &catalogue, const Call &call);

// The same, and 42704 if no node has the job.
std::string call_for_job(const catalog::Catalogue &catalogue, const Call &call);

// That answer, or the errors.
std::optional<std::string> require_certain(const Call &call, const Found &found);

}  // namespace hipq::nodes
