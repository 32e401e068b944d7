// The files of the page: read at each request, and not sent again to who has them.
#pragma once

#include <string>

#include "http/httplib.hpp"

namespace hipq::web {

class Files {
public:
    explicit Files(std::string folder) : folder_(std::move(folder)) {}

    // Whether the page is there.
    bool has_page() const;

    // Answers with the file of a path. The page finds out by what follows # in its address what to
    // show: that is not sent to servers.
    void serve(const httplib::Request &request, httplib::Response &response) const;

private:
    std::string folder_;
};

}  // namespace hipq::web
