// The folder of the page: a build for another folder compiles only this file again.
#include "page_folder.hpp"

namespace hipq::web {

const char *const page_folder = HIPQ_PAGE;

}
