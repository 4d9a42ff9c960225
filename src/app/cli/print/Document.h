// A report of a verb as sections of sentences and tables, written as a page or as Markdown.
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
  /// Picture that takes the table's place on the page; "": none. Markdown has the table.
  std::string svg = {};
};

struct Document {
  std::string title;
  std::vector<std::string> paragraphs = {};
  std::vector<Section> sections = {};
};

/// The document as one HTML file that loads no other file: texts, tables and pictures.
std::string htmlOf(const Document &document);
/// The document as CommonMark with tables; pictures are left out.
std::string markdownOf(const Document &document);

} // namespace lathe::cli::print
