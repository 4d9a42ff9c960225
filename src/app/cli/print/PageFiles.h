// The page of reports and its plots as files (docs/reports.md).
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace lathe::cli {

/// Throws Error unless this program has the page; it lacks the page if it was built without npm.
void requirePage();
/// Writes the page with a report::PageData document. "-" is the standard output.
void writePage(const std::string &path, const nlohmann::json &document);
/// Draws the plots of a document as SVG files into `folder`, with Node.js. Returns their number.
size_t writePlots(const std::string &folder, const nlohmann::json &document);

} // namespace lathe::cli
