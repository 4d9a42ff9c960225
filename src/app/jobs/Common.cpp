#include "jobs/Common.h"

#include "jobs/Progress.h"
#include "jobs/Terminal.h"
#include "support/File.h"
#include "support/PendingFile.h"
#include "support/Text.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace lathe::jobs {

static std::string entered;

std::string shownVerb() {
  const char *typed = std::getenv("LATHE_TYPED_VERB");
  return typed && *typed ? typed : entered;
}

std::string enterVerb(const std::string &verb) {
  entered = verb;
  return shownVerb();
}

void sayError(const std::string &verb, const std::string &message) {
  say(fmt::format("lathe {}: {}", verb, message));
  if (const char *file = std::getenv(errorFileVariable); file && *file)
    std::ofstream(file) << printable(message) << "\n";
}

std::string quietFlag() { return Progress::isSilent() ? "--quiet" : "--only-progress"; }

static nlohmann::json valueOf(const TableColumn &column, const TableCell &cell) {
  if (!cell.json.empty())
    return nlohmann::json::parse(cell.json);
  if (!column.alignsRight)
    return cell.text;
  if (cell.text.empty())
    return nullptr;
  nlohmann::json number = nlohmann::json::parse(cell.text, nullptr, false);
  return number.is_number() ? number : nlohmann::json(cell.text);
}

nlohmann::json toJson(const Table &table) {
  nlohmann::json list = nlohmann::json::array();
  for (const std::vector<TableCell> &row : table.cells()) {
    nlohmann::json object = nlohmann::json::object();
    for (size_t c = 0; c < row.size(); ++c)
      if (const TableColumn &column = table.columnList()[c]; column.inData)
        object[column.name()] = valueOf(column, row[c]);
    list.push_back(std::move(object));
  }
  return list;
}

TableCell valueCell(std::string text, const nlohmann::json &value) {
  return {std::move(text), value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
}

namespace {
std::string scaled(double value, double base, const char *const *units, size_t count) {
  size_t unit = 0;
  while (unit + 1 < count && value >= base) {
    value /= base;
    ++unit;
  }
  return unit == 0 && value == static_cast<int64_t>(value)
             ? fmt::format("{} {}", static_cast<int64_t>(value), units[unit])
             : fmt::format("{:.4g} {}", value, units[unit]);
}
} // namespace

std::vector<std::string> wordsOf(const std::string &list) {
  std::vector<std::string> words(list.empty() ? 1 : 0);
  std::istringstream stream(list);
  for (std::string word; std::getline(stream, word, ',');)
    words.push_back(word);
  return words;
}

std::string bytesText(double bytes) {
  static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
  return scaled(bytes, 1000, units, 5);
}
std::string flopsText(double flops) {
  static const char *const units[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"};
  return scaled(flops, 1000, units, 5);
}
std::string secondsText(double seconds) {
  if (seconds < 1e-3)
    return fmt::format("{:.4g} us", seconds * 1e6);
  if (seconds < 1)
    return fmt::format("{:.4g} ms", seconds * 1e3);
  return fmt::format("{:.4g} s", seconds);
}

std::string millisecondsText(double seconds) {
  constexpr int usual = 4, significant = 3, most = 9;
  double value = seconds * 1e3, size = std::abs(value);
  int digits = size > 0 ? significant - 1 - static_cast<int>(std::floor(std::log10(size))) : usual;
  return fmt::format("{:.{}f}", value, std::clamp(digits, usual, most));
}

std::string waitText(double seconds) {
  if (seconds < 120)
    return fmt::format("{:.0f} s", seconds);
  return seconds < 120 * 60 ? fmt::format("{:.0f} min", seconds / 60) : fmt::format("{:.1f} h", seconds / 3600);
}

std::string readFile(const std::string &path) {
  std::vector<char> bytes = lathe::readFile(path);
  protectInput(path);
  return {bytes.begin(), bytes.end()};
}

void writeFile(const std::string &path, const std::string &text) {
  PendingFile file(path);
  file.write(text);
  file.commit();
}

void requireNoTerminal(const std::string &path, const std::string &what) {
  require((path != "-" && path != "/dev/stdout") || !::isatty(STDOUT_FILENO),
          "{}: the standard output is a terminal, which cannot show {}: give a file, or redirect it", path, what);
}

} // namespace lathe::jobs
