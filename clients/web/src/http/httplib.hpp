// cpp-httplib, whose warnings are not ours.
#pragma once

#pragma GCC system_header
#include <httplib.h>
