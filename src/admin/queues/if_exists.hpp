// if_not_exists and or_replace: what a function that makes something does when it is there already,
// and how it tells.
#pragma once

#include "admin/queues/described_queues.hpp"
#include "pg/arguments.hpp"

namespace hipq::admin {

enum class IfExists : unsigned char { fails, stays, is_replaced };

// The two arguments, of which `first` is if_not_exists: 22023 if both are true.
IfExists read_if_exists(const pg::Arguments &arguments, int first);

// NOTICEs. What was made is told of only under or_replace.
void tell_of_existing(const std::string &object);
void tell_if_new(IfExists if_exists, const std::string &object);
// queue "app.mail": history failed -> all, weight 100 -> 10
void tell_of_changes(const Object &before, const Object &after);

}  // namespace hipq::admin
