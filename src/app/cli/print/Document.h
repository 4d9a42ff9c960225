// A report of a verb as sections of sentences and tables, which can be written as HTML or as Markdown.
#pragma once

#include "support/Table.h"

#include <optional>
#include <string>
#include <vector>

namespace lathe::cli::print {

struct Section {
  std::string title;
  std::vector<std::string> paragraphs = {};
  std::optional<Table> table = {};
  /// Picture that replaces the table in HTML; "": none. Markdown has the table.
  std::string svg = {};
};

struct Document {
  std::string title;
  std::vector<std::string> paragraphs = {};
  std::vector<Section> sections = {};
};

/// The report as one HTML file that loads no other file: texts, tables and pictures.
std::string htmlOf(const Document &document);
/// The report as CommonMark text with tables; pictures are left out.
std::string markdownOf(const Document &document);

} // namespace lathe::cli::print
