// The files of the page: read at each request, and not sent again to clients that have them.
#pragma once

#include <string>

#include "http/httplib.hpp"

namespace hipq::web {

class Files {
public:
    explicit Files(std::string folder) : folder_(std::move(folder)) {}

    // Whether the page exists.
    bool has_page() const;

    // Answers with the file of a path. The page decides what to show by the part of its URL after
    // #, which browsers do not send to servers.
    void serve(const httplib::Request &request, httplib::Response &response) const;

private:
    std::string folder_;
};

}  // namespace hipq::web
