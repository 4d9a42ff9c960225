#include "support/csv/Csv.h"

namespace lathe {

std::string csvCell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos)
    return std::string(text);
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
  return cells;
}

} // namespace lathe
