// The built report page and the program that draws its plots as SVG, as byte strings in this program (from
// report/page/, built with npm).
#pragma once

#include <string_view>

namespace lathe::report {

/// The report page as HTML, with `pageDataMarker` where the document belongs; "" if this program was built without
/// npm, and so without a page.
std::string_view pageTemplate();
/// A module for Node.js that draws plots: `node plots.mjs DOCUMENT.json FOLDER` writes every plot as SVG. "" if this
/// program was built without npm.
std::string_view plotProgram();

/// Returns `bytes`, a result of pageTemplate or plotProgram. If it is "", throws Error with the reason.
std::string_view builtPage(std::string_view bytes);

} // namespace lathe::report
