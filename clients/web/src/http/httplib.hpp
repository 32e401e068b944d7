// Includes cpp-httplib without its warnings.
#pragma once

#pragma GCC system_header
#include <httplib.h>
