#include "support/Table.h"

#include "support/Text.h"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>

namespace lathe {
namespace {

constexpr size_t gap = 2; // between columns
constexpr std::string_view dots = "...";

/// Takes one code point off the front of valid UTF-8.
std::string_view takePoint(std::string_view &text) {
  size_t length = 1;
  while (length < text.size() && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80)
    ++length;
  std::string_view point = text.substr(0, length);
  text.remove_prefix(length);
  return point;
}

uint32_t valueOf(std::string_view point) {
  auto lead = static_cast<unsigned char>(point[0]);
  if (point.size() == 1)
    return lead;
  uint32_t value = lead & (0xffu >> (point.size() + 1));
  for (char byte : point.substr(1))
    value = value << 6 | (static_cast<unsigned char>(byte) & 0x3f);
  return value;
}

/// After Unicode's East Asian Width (W and F) and the usual combining marks, by blocks.
size_t widthOf(std::string_view point) {
  uint32_t value = valueOf(point);
  auto in = [&](uint32_t first, uint32_t last) { return first <= value && value <= last; };
  if (in(0x300, 0x36f) || in(0x200b, 0x200f) || in(0x20d0, 0x20ff) || in(0xfe00, 0xfe0f))
    return 0;
  bool wide = in(0x1100, 0x115f) || in(0x2e80, 0x303e) || in(0x3041, 0xa4cf) || in(0xac00, 0xd7a3) ||
              in(0xf900, 0xfaff) || in(0xfe30, 0xfe6f) || in(0xff00, 0xff60) || in(0xffe0, 0xffe6) ||
              in(0x1f300, 0x1f64f) || in(0x1f900, 0x1f9ff) || in(0x20000, 0x3fffd);
  return wide ? 2 : 1;
}

/// The longest beginning of `text` that takes at most `width` columns.
std::string_view front(std::string_view text, size_t width) {
  std::string_view rest = text;
  for (size_t taken = 0; !rest.empty();) {
    std::string_view before = rest;
    taken += widthOf(takePoint(rest));
    if (taken > width)
      return text.substr(0, text.size() - before.size());
  }
  return text;
}

/// The columns that are shown, and the widths of all columns.
struct Fit {
  std::vector<size_t> shown, widths; // widths of all columns
  std::vector<size_t> leftOut, cut;
};

size_t lineWidth(const Fit &fit) {
  size_t width = fit.shown.empty() ? 0 : gap * (fit.shown.size() - 1);
  for (size_t column : fit.shown)
    width += fit.widths[column];
  return width;
}

/// `natural`: the width of each column's widest cell, `least`: the width to which it may shrink.
Fit fitted(const std::vector<TableColumn> &columns, const std::vector<size_t> &natural,
           const std::vector<size_t> &least, size_t width) {
  Fit fit;
  for (size_t c = 0; c < columns.size(); ++c)
    if (columns[c].inText)
      fit.shown.push_back(c);
  fit.widths = natural;
  if (!width || lineWidth(fit) <= width)
    return fit;
  fit.widths = least;
  while (lineWidth(fit) > width) {
    auto last = std::max_element(fit.shown.rbegin(), fit.shown.rend(),
                                 [&](size_t a, size_t b) { return columns[a].dropOrder < columns[b].dropOrder; });
    if (last == fit.shown.rend() || columns[*last].dropOrder == 0)
      break;
    fit.leftOut.push_back(*last);
    fit.shown.erase(std::next(last).base());
  }
  std::sort(fit.leftOut.begin(), fit.leftOut.end());
  // Of the columns that are cut, the narrowest grows first: short columns stay whole.
  for (size_t used = lineWidth(fit); used < width; ++used) {
    size_t chosen = columns.size();
    for (size_t column : fit.shown)
      if (fit.widths[column] < natural[column] && (chosen == columns.size() || fit.widths[column] < fit.widths[chosen]))
        chosen = column;
    if (chosen == columns.size())
      break;
    ++fit.widths[chosen];
  }
  for (size_t column : fit.shown)
    if (fit.widths[column] < natural[column])
      fit.cut.push_back(column);
  return fit;
}

} // namespace

TableColumn TableColumn::drop(int order) const {
  TableColumn column = *this;
  column.dropOrder = order;
  return column;
}

TableColumn TableColumn::shrink(size_t least) const {
  TableColumn column = *this;
  column.leastWidth = least;
  return column;
}

TableColumn TableColumn::key(std::string name) const {
  TableColumn column = *this;
  column.keyName = std::move(name);
  return column;
}

TableColumn TableColumn::onlyText() const {
  TableColumn column = *this;
  column.inData = false;
  return column;
}

TableColumn TableColumn::onlyData() const {
  TableColumn column = *this;
  column.inText = false;
  return column;
}

std::string TableColumn::name() const {
  if (!keyName.empty())
    return keyName;
  std::string name = heading();
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

std::string TableColumn::heading() const { return title + (title.empty() || unit.empty() ? "" : " ") + unit; }

TableColumn textColumn(std::string title) {
  TableColumn column;
  column.title = std::move(title);
  return column;
}

TableColumn numberColumn(std::string title, std::string unit) {
  TableColumn column = textColumn(std::move(title));
  column.unit = std::move(unit);
  column.alignsRight = true;
  return column;
}

size_t displayWidth(std::string_view text) {
  size_t width = 0;
  while (!text.empty())
    width += widthOf(takePoint(text));
  return width;
}

std::string shortened(std::string_view text, size_t width) {
  if (displayWidth(text) <= width)
    return std::string(text);
  if (width <= dots.size())
    return std::string(dots.substr(0, width));
  size_t kept = width - dots.size(), end = kept / 3;
  std::string_view head = front(text, kept - end), tail = text;
  while (displayWidth(tail) > end)
    takePoint(tail);
  return std::string(head) + std::string(dots) + std::string(tail);
}

namespace {

/// True for a text that spreadsheets would compute, possibly after apostrophes.
bool isFormula(std::string_view text) {
  std::string rest(text.substr(std::min(text.find_first_not_of('\''), text.size())));
  if (rest.empty() || std::string_view("=+-@\t\r").find(rest[0]) == std::string_view::npos)
    return false;
  char *end = nullptr;
  std::strtod(rest.c_str(), &end);
  return *end != '\0' || rest.size() < text.size(); // a number is not a formula
}

} // namespace

std::string csvCell(std::string_view given) {
  std::string text = (isFormula(given) ? "'" : "") + std::string(given);
  if (text.find_first_of(",\"\r\n") == text.npos)
    return text;
  std::string cell = "\"";
  for (char c : text)
    cell += c == '"' ? "\"\"" : std::string(1, c);
  return cell + '"';
}

std::vector<std::string> csvCells(std::string_view line) {
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  std::vector<std::string> cells;
  if (line.empty())
    return cells;
  cells.emplace_back();
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    bool quote = line[i] == '"';
    if (quoted && quote && i + 1 < line.size() && line[i + 1] == '"')
      cells.back() += line[i++];
    else if (quote && (quoted || cells.back().empty()))
      quoted = !quoted;
    else if (line[i] == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += line[i];
  }
  for (std::string &cell : cells)
    if (cell.starts_with('\'') && isFormula(std::string_view(cell).substr(1)))
      cell.erase(0, 1);
  return cells;
}

void Table::row(std::vector<TableCell> cells) {
  cells.resize(columns.size());
  rows.push_back(std::move(cells));
}

std::string Table::str(const TableStyle &style) const {
  size_t count = style.rows ? std::min(style.rows, rows.size()) : rows.size();
  std::vector<std::vector<std::string>> lines(1 + count);
  std::vector<size_t> natural(columns.size(), 0), least(columns.size(), 0);
  for (const TableColumn &column : columns)
    lines[0].push_back(printable(column.heading()));
  for (size_t r = 0; r < count; ++r)
    for (const TableCell &cell : rows[r])
      lines[r + 1].push_back(printable(cell.text));
  for (const auto &line : lines)
    for (size_t c = 0; c < columns.size(); ++c)
      natural[c] = std::max(natural[c], displayWidth(line[c]));
  for (size_t c = 0; c < columns.size(); ++c)
    least[c] = columns[c].leastWidth ? std::min(natural[c], std::max(columns[c].leastWidth, displayWidth(lines[0][c])))
                                     : natural[c];
  Fit fit = fitted(columns, natural, least, style.width);
  std::string text;
  for (const auto &line : lines) {
    std::string shown;
    for (size_t c : fit.shown) {
      std::string cell = shortened(line[c], fit.widths[c]);
      std::string pad(fit.widths[c] - std::min(fit.widths[c], displayWidth(cell)), ' ');
      shown += c == fit.shown.front() ? "" : std::string(gap, ' ');
      shown += columns[c].alignsRight ? pad + cell : cell + pad;
    }
    text += shown.substr(0, shown.find_last_not_of(' ') + 1) + "\n";
  }
  if (count < rows.size())
    text += fmt::format("... and {} more (--rows 0 shows all)\n", rows.size() - count);
  std::vector<std::string> said;
  for (auto &[what, which] : {std::pair("left out", &fit.leftOut), std::pair("shortened", &fit.cut)}) {
    std::vector<std::string> names;
    for (size_t c : *which)
      names.push_back(lines[0][c]);
    if (!names.empty())
      said.push_back(fmt::format("{}: {}", what, fmt::join(names, ", ")));
  }
  if (!said.empty())
    text += fmt::format("{}; --wide shows all\n", fmt::join(said, "; "));
  return text;
}

std::string Table::csv() const {
  std::string text;
  auto line = [&](auto cellOf) {
    std::vector<std::string> cells;
    for (size_t c = 0; c < columns.size(); ++c)
      if (columns[c].inData)
        cells.push_back(csvCell(cellOf(c)));
    text += fmt::format("{}\n", fmt::join(cells, ","));
  };
  line([&](size_t c) { return columns[c].name(); });
  for (const auto &row : rows)
    line([&](size_t c) { return row[c].text; });
  return text;
}

} // namespace lathe
