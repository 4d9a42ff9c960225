// Text and JSON of `lathe segments`.
#pragma once

#include "cli/flags/Options.h"
#include "jobs/segments/Segments.h"

namespace lathe::cli {

/// Makes the table of the places where a network can be cut into segments.
Table placesTable(const Source &source);

/// The result of `lathe segments` as text. `kept`: the line about the store (Recording::line).
std::string segmentsText(const Segments &parts, const SegmentJob &flags, const std::string &kept,
                         const TableStyle &style);
nlohmann::json segmentsJson(const Segments &parts, const SegmentJob &flags, bool finished);

} // namespace lathe::cli
