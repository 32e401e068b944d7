// The folder into which the files of the page are installed.
#pragma once

namespace hipq::web {

extern const char *const page_folder;

}
