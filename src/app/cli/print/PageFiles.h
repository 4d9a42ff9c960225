// Writes the page of reports and its plots as files (docs/reports.md).
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace lathe::cli {

/// Throws Error if this program does not contain the page of reports, because it was built without npm.
void requirePage();
/// Writes the page of reports with a report::PageData document. "-" is the standard output.
void writePage(const std::string &path, const nlohmann::json &document);
/// Draws the plots of a report's document as SVG files into `folder`, with Node.js. Returns the number of files.
size_t writePlots(const std::string &folder, const nlohmann::json &document);

} // namespace lathe::cli
