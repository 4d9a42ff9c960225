#include "lab/ProblemList.h"

#include "support/Error.h"

#include <algorithm>
#include <fstream>
#include <set>

namespace lathe::lab {

ListedProblem &ProblemList::add(ListedProblem problem) {
  auto [place, isNew] = places.emplace(problem.problem.str(), problems.size());
  if (isNew)
    return problems.emplace_back(std::move(problem));
  ListedProblem &known = problems[place->second];
  known.count += problem.count;
  known.nodes.insert(known.nodes.end(), problem.nodes.begin(), problem.nodes.end());
  for (auto &suite : problem.suites)
    if (std::find(known.suites.begin(), known.suites.end(), suite) == known.suites.end())
      known.suites.push_back(suite);
  return known;
}

namespace {

/// A CSV file whose first line names the columns.
class Csv {
public:
  explicit Csv(const std::string &path) : path(path), file(path) {
    require(file.good(), "{}: cannot be read", path);
    std::string line;
    std::getline(file, line);
    for (auto &title : cellsOf(line))
      columns.emplace(title, columns.size());
  }
  bool has(const std::string &title) const { return columns.count(title) != 0; }
  void need(std::initializer_list<const char *> titles) const {
    for (const char *title : titles)
      require(has(title), "{}: no column '{}'", path, title);
  }
  /// False at the end. Throws Error for a line with another number of cells.
  bool next() {
    for (std::string line; std::getline(file, line);) {
      ++number;
      cells = cellsOf(line);
      if (cells.empty())
        continue;
      require(cells.size() == columns.size(), "{}: {} columns, expected {}", where(), cells.size(), columns.size());
      return true;
    }
    return false;
  }
  std::string where() const { return fmt::format("{}:{}", path, number); }
  const std::string &text(const char *title) const { return cells[columns.at(title)]; }
  int64_t whole(const char *title) const {
    const std::string &cell = text(title);
    char *end = nullptr;
    int64_t value = std::strtoll(cell.c_str(), &end, 10);
    require(!cell.empty() && *end == 0, "{}: {} is '{}', expected a number", where(), title, cell);
    return value;
  }

private:
  static std::vector<std::string> cellsOf(const std::string &line) {
    std::vector<std::string> result;
    bool quoted = false; // a cell in quotes may have commas
    for (char character : line) {
      if (result.empty())
        result.emplace_back();
      if (character == '"')
        quoted = !quoted;
      else if (character == ',' && !quoted)
        result.emplace_back();
      else if (character != '\r')
        result.back() += character;
    }
    return result;
  }
  std::string path;
  std::ifstream file;
  std::map<std::string, size_t> columns;
  std::vector<std::string> cells;
  int number = 1;
};

/// benchdnn's text of a row of the shared convolution list.
std::string convolutionText(const Csv &row) {
  const std::pair<const char *, const char *> letters[] = {
      {"groups", "g"},         {"batch", "mb"},        {"in_channels", "ic"},   {"in_height", "ih"},
      {"in_width", "iw"},      {"out_channels", "oc"}, {"kernel_height", "kh"}, {"kernel_width", "kw"},
      {"stride_height", "sh"}, {"stride_width", "sw"}, {"pad_height", "ph"},    {"pad_width", "pw"}};
  std::string text;
  for (auto &[title, letter] : letters)
    text += fmt::format("{}{}", letter, row.whole(title));
  return text + fmt::format("dh{}dw{}", row.whole("dilation_height") - 1, row.whole("dilation_width") - 1);
}

} // namespace

std::vector<ListedProblem> readProblems(const std::string &path, const std::vector<std::string> &suites,
                                        const SyntaxOptions &options) {
  Csv rows(path);
  rows.need({"suite", "name", "count"});
  bool convolutions = rows.has("in_channels"), matrices = rows.has("trans_a");
  if (convolutions)
    rows.need({"batch", "in_height", "in_width", "out_channels", "kernel_height", "kernel_width", "stride_height",
               "stride_width", "pad_height", "pad_width", "dilation_height", "dilation_width", "groups"});
  else if (matrices)
    rows.need({"m", "n", "k", "trans_b"});
  else
    rows.need({"kind", "problem"});
  ProblemList list;
  std::set<std::string> seen, used;
  while (rows.next()) {
    std::string suite = rows.text("suite");
    seen.insert(suite);
    auto wanted = std::find_if(suites.begin(), suites.end(), [&](const std::string &pattern) {
      return pattern == suite || (!pattern.empty() && pattern.back() == '*' &&
                                  suite.compare(0, pattern.size() - 1, pattern, 0, pattern.size() - 1) == 0);
    });
    if (wanted == suites.end())
      continue;
    used.insert(*wanted);
    ListedProblem entry;
    if (convolutions) {
      entry.kind = "conv2d";
      entry.text = convolutionText(rows);
    } else if (matrices) {
      entry.kind = "gemm";
      entry.text = fmt::format("m{}n{}k{}", rows.whole("m"), rows.whole("n"), rows.whole("k"));
      for (auto &[title, letters] : {std::pair{"trans_a", "ta1"}, {"trans_b", "tb1"}})
        entry.text += rows.whole(title) ? letters : "";
    } else {
      entry.kind = rows.text("kind");
      entry.text = rows.text("problem");
    }
    try {
      entry.problem = parseProblem(entry.kind, entry.text, options);
    } catch (const Error &error) {
      fail("{}: {}", rows.where(), error.what());
    }
    if (convolutions)
      entry.text = shortText(entry.problem);
    entry.name = rows.text("name");
    entry.suites = {suite};
    entry.count = rows.whole("count");
    list.add(std::move(entry));
  }
  for (auto &pattern : suites)
    require(used.count(pattern), "{}: no suite '{}'; there are {}", path, pattern, fmt::join(seen, ", "));
  return list.take();
}

} // namespace lathe::lab
