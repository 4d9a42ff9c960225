#include "cli/Common.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <new>
#include <sstream>
#include <unistd.h>

namespace lathe::cli {

int guarded(const std::string &verb, const std::function<int()> &body) {
  auto say = [&](const std::string &message) { fmt::print(stderr, "lathe {}: {}\n", verb, message); };
  try {
    int code = body();
    std::cout.flush();
    if (!std::cout || std::fflush(stdout) != 0) {
      say(fmt::format("cannot write standard output: {}", std::strerror(errno)));
      return userError;
    }
    return code;
  } catch (const ChildFailed &child) {
    return child.exitCode;
  } catch (const CLI::CallForHelp &) {
    return success; // printed by Options::parseAll
  } catch (const CLI::ParseError &error) {
    std::string message = error.what();
    say(message.substr(0, message.find('\n')) + fmt::format(" (see lathe {} --help)", verb));
    return userError;
  } catch (const Error &error) {
    say(error.what());
    return userError;
  } catch (const std::bad_alloc &) {
    say("out of memory");
    return userError;
  } catch (const std::exception &error) {
    say(fmt::format("internal error: {}", error.what()));
    return internalError;
  }
}

Options::Options(const std::string &verb, const std::string &summary, const std::string &examples)
    : CLI::App(summary, "lathe " + verb) {
  footer("Examples:\n" + examples +
         "\nExit code: 0 done, 1 the verdict is no, 2 wrong input or options, 3 internal error.");
  get_formatter()->column_width(34);
}

void Options::parseAll(const Arguments &arguments) {
  try {
    parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp &) {
    std::cout << help();
    throw;
  }
}

void Options::addJson() {
  add_option("--json", jsonPath, "writes every figure to FILE as JSON, the unit in each key (-: standard output)")
      ->type_name("FILE");
}

void Options::writeJson(const nlohmann::json &document) const {
  if (jsonPath.empty())
    return;
  std::string text = document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (jsonPath == "-")
    std::cout << text;
  else
    writeFile(jsonPath, text);
}

Table::Table(std::vector<std::string> titles) { rows.push_back(std::move(titles)); }
void Table::row(std::vector<std::string> cells) { rows.push_back(std::move(cells)); }

std::string Table::str() const {
  size_t columns = rows[0].size();
  std::vector<size_t> widths(columns, 0);
  std::vector<bool> numeric(columns, rows.size() > 1);
  for (size_t r = 0; r < rows.size(); ++r)
    for (size_t c = 0; c < columns && c < rows[r].size(); ++c) {
      const std::string &cell = rows[r][c];
      widths[c] = std::max(widths[c], cell.size());
      if (r > 0 && !cell.empty() && !std::isdigit(static_cast<unsigned char>(cell[0])) && cell[0] != '-' &&
          cell[0] != '+' && cell[0] != '.')
        numeric[c] = false;
      if (r > 0 && cell.find_first_of("x*>/") != std::string::npos) // a shape or a name
        numeric[c] = false;
    }
  std::string text;
  for (const auto &row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      if (c)
        line += "  ";
      std::string pad(widths[c] - std::min(widths[c], row[c].size()), ' ');
      line += numeric[c] ? pad + row[c] : row[c] + pad;
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
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

std::string waitText(double seconds) {
  if (seconds < 120)
    return fmt::format("{:.0f} s", seconds);
  return seconds < 120 * 60 ? fmt::format("{:.0f} min", seconds / 60) : fmt::format("{:.1f} h", seconds / 3600);
}

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  require(file.is_open(), "{}: cannot read: {}", path, std::strerror(errno));
  text << file.rdbuf();
  require(!file.bad() && !(file.fail() && !file.eof()), "{}: cannot read: {}", path, std::strerror(errno));
  return text.str();
}

void writeFile(const std::string &path, const std::string &text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  require(static_cast<bool>(file), "{}: cannot write: {}", path, std::strerror(errno ? errno : EIO));
}

} // namespace lathe::cli
