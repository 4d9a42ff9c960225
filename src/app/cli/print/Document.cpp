#include "cli/print/Document.h"

#include "support/Text.h"

#include <fmt/format.h>

namespace lathe::cli::print {
namespace {

constexpr const char *style =
    ":root{color-scheme:light dark}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:max(75rem,92vw);margin:2rem auto;padding:0 1rem}"
    "p,h2{max-width:75rem}"
    "h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2.2rem}"
    ".wide{overflow-x:auto}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "th,td{padding:.25rem .7rem;text-align:left;border-bottom:1px solid color-mix(in "
    "srgb,currentColor 20%,transparent);"
    "vertical-align:top;white-space:nowrap}"
    "td.number,th.number{text-align:right}"
    "td.long{white-space:normal;overflow-wrap:anywhere;min-width:24ch}"
    "svg{max-width:100%;height:auto;background:#fff;color:#000}";

/// Escapes text for HTML: names in models and files are untrusted.
std::string escaped(std::string_view text) {
  std::string result;
  for (char letter : printable(text)) {
    switch (letter) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    default:
      result += letter;
    }
  }
  return result;
}

/// Escapes text for a cell of a Markdown table.
std::string markdownCell(std::string_view text) {
  std::string result;
  for (char letter : printable(text)) {
    if (std::string_view("|\\`*_<>[]").find(letter) != std::string_view::npos)
      result += '\\';
    result += letter;
  }
  return result;
}

std::string htmlTable(const Table &table) {
  std::string text = "<div class=\"wide\"><table>\n<thead><tr>";
  auto cell = [&](const char *tag, size_t column, const std::string &content) {
    const char *kind = table.columnList()[column].alignsRight ? " class=\"number\""
                       : content.size() > 40                  ? " class=\"long\""
                                                              : "";
    return fmt::format("<{}{}>{}</{}>", tag, kind, escaped(content), tag);
  };
  for (size_t i = 0; i < table.columnList().size(); ++i)
    text += cell("th", i, table.columnList()[i].heading());
  text += "</tr></thead>\n<tbody>\n";
  for (const std::vector<TableCell> &row : table.cells()) {
    text += "<tr>";
    for (size_t i = 0; i < table.columnList().size(); ++i)
      text += cell("td", i, i < row.size() ? row[i].text : "");
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string markdownTable(const Table &table) {
  std::string text = "|", rule = "|";
  for (const TableColumn &column : table.columnList()) {
    text += " " + markdownCell(column.heading()) + " |";
    rule += column.alignsRight ? "---:|" : "---|";
  }
  text += "\n" + rule + "\n";
  for (const std::vector<TableCell> &row : table.cells()) {
    text += "|";
    for (size_t i = 0; i < table.columnList().size(); ++i)
      text += " " + markdownCell(i < row.size() ? row[i].text : "") + " |";
    text += "\n";
  }
  return text;
}

} // namespace

std::string htmlOf(const Document &document) {
  std::string text = fmt::format("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                                 "<meta name=\"viewport\" content=\"width=device-width\"><title>{}</title>\n"
                                 "<style>{}</style></head>\n<body>\n<h1>{}</h1>\n",
                                 escaped(document.title), style, escaped(document.title));
  for (const std::string &paragraph : document.paragraphs)
    text += fmt::format("<p>{}</p>\n", escaped(paragraph));
  for (const Section &section : document.sections) {
    text += fmt::format("<h2>{}</h2>\n", escaped(section.title));
    for (const std::string &paragraph : section.paragraphs)
      text += fmt::format("<p>{}</p>\n", escaped(paragraph));
    if (!section.svg.empty())
      text += section.svg;
    else if (section.table)
      text += htmlTable(*section.table);
  }
  return text + "</body></html>\n";
}

std::string markdownOf(const Document &document) {
  std::string text = fmt::format("# {}\n", markdownCell(document.title));
  for (const std::string &paragraph : document.paragraphs)
    text += "\n" + markdownCell(paragraph) + "\n";
  for (const Section &section : document.sections) {
    text += fmt::format("\n## {}\n", markdownCell(section.title));
    for (const std::string &paragraph : section.paragraphs)
      text += "\n" + markdownCell(paragraph) + "\n";
    if (section.table)
      text += "\n" + markdownTable(*section.table);
  }
  return text;
}

} // namespace lathe::cli::print
