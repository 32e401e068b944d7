// Wipes memory when it is freed: passwords pass through many functions, most of them in libraries,
// none of which does so.
#include "http/wiped_memory.hpp"

#include <malloc.h>

#include <cstring>

// NOLINTBEGIN(readability-identifier-naming,readability-inconsistent-declaration-parameter-name)
extern "C" void __libc_free(void *memory);

// Replaces the C library's function in the whole process: libpq, OpenSSL and cpp-httplib call it.
// Memory that realloc() moves is not wiped, because it does not call this function.
extern "C" void free(void *memory)
{
    if (memory != nullptr)
        explicit_bzero(memory, malloc_usable_size(memory));
    __libc_free(memory);
}
// NOLINTEND(readability-identifier-naming,readability-inconsistent-declaration-parameter-name)

namespace hipq::web {

void wipe_stack()
{
    char below[16'384];
    explicit_bzero(below, sizeof(below));
}

}  // namespace hipq::web
