// Finds the node that has a job, and runs there the function that was called here.
#pragma once

#include "catalog/catalog.hpp"
#include "nodes/answer.hpp"

namespace hipq::nodes {

enum class Place : unsigned char {
    elsewhere,  // another node has answered
    nowhere,    // no node that could have it has it
    held,       // here, but held until its key is free at the node that had its slot
    unknown,    // not all nodes that could have it have answered
};

struct Found {
    Place place = Place::nowhere;
    std::string answer{};      // elsewhere: JSON, or text, as answer.cpp has it for the function
    std::string node{};        // elsewhere: shard 2 of instance "app"
    std::string reason{};      // held, unknown: a sentence; nowhere: one if the reason is known
    std::string log{};         // unknown: additional text for the server's log
    bool keeps_order = false;  // held: to keep the order of its queue, not for its key
};

// Passes a call on to the node that has its job, which this node does not. Does nothing in a
// database without sharded instances. Raises what the other node raises; 42P08 if nodes of two
// instances have such a job.
//
// Another node's work takes effect at once, whatever becomes of the current transaction.
Found search(const catalog::Catalogue &catalogue, const Call &call);

// The same for callers that want the answer: returns it, or nothing if no node has the job. Raises
// HQ503 if that is not certain, 55P03 while the job is held.
std::optional<std::string> call(const catalog::Catalogue &catalogue, const Call &call);

// The same, but raises 42704 if no node has the job.
std::string call_for_job(const catalog::Catalogue &catalogue, const Call &call);

// Returns the answer of `found`, or raises these errors.
std::optional<std::string> require_certain(const Call &call, const Found &found);

}  // namespace hipq::nodes
