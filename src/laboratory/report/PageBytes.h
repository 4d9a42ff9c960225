// The built page of reports and the program that draws its plots as SVG, as bytes of this program
// (report/page/, built with npm).
#pragma once

#include <string_view>

namespace lathe::report {

/// HTML with the marker `pageDataMarker`; "" if this build has no page, because npm was not there.
std::string_view pageTemplate();
/// A module for Node.js: `node plots.mjs DOCUMENT.json FOLDER` writes every plot as SVG. "" like
/// pageTemplate.
std::string_view plotProgram();

/// Returns `bytes`, one of the two above. Throws Error that says why this build has none if it is "".
std::string_view builtPage(std::string_view bytes);

} // namespace lathe::report
