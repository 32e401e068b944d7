// if_not_exists and or_replace: what a function does if the object that it should create exists,
// and how it reports that.
#pragma once

#include "admin/queues/described_queues.hpp"
#include "pg/arguments.hpp"

namespace hipq::admin {

enum class IfExists : unsigned char { fails, stays, is_replaced };

// Reads the two arguments. 22023 if both are true.
IfExists read_if_exists(const pg::Arguments &arguments);

// Raise NOTICEs. A new object is reported only under or_replace.
void tell_of_existing(const std::string &object);
void tell_if_new(IfExists if_exists, const std::string &object);
// queue "app.mail": history failed -> all, weight 100 -> 10
void tell_of_changes(const Object &before, const Object &after);

}  // namespace hipq::admin
