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

    // Answers with the file of a path, or with the page itself where the path names none of them:
    // it finds out by its address what to show.
    void serve(const httplib::Request &request, httplib::Response &response) const;

private:
    std::string folder_;
};

}  // namespace hipq::web
