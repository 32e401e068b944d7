// Settings that a database or role may carry, and that shall not reach hipq's own processes.
#pragma once

namespace hipq::process {

// In a process that runs no user code: all that could make its statements mean or do something
// else, or end it. Needs a connection.
void pin_settings();

// In a process that runs user code: what alone would end it. Other settings are the role's there
// (pg/own_settings.hpp has what hipq's own statements need).
void pin_settings_of_executor();

}  // namespace hipq::process
