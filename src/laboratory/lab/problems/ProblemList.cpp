#include "lab/problems/ProblemList.h"

#include "lab/problems/TextRanges.h"
#include "support/Error.h"
#include "support/Table.h"

#include <algorithm>
#include <filesystem>
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

/// A CSV file with column names in its first line.
class Csv {
public:
  explicit Csv(const std::string &path) : path(path), file(path) {
    require(file.good(), "{}: cannot be read", path);
    std::string line;
    while (std::getline(file, line) && line.starts_with('#'))
      ++number;
    for (auto &title : csvCells(line))
      columns.emplace(title, columns.size());
  }
  bool has(const std::string &title) const { return columns.count(title) != 0; }
  void need(std::initializer_list<const char *> titles) const {
    for (const char *title : titles)
      require(has(title), "{}: no column '{}'", path, title);
  }
  /// Returns false at the end. Throws Error for a line with another number of cells.
  bool next() {
    for (std::string line; std::getline(file, line);) {
      ++number;
      cells = csvCells(line);
      if (cells.empty() || line.starts_with('#'))
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
  std::string path;
  std::ifstream file;
  std::map<std::string, size_t> columns;
  std::vector<std::string> cells;
  int number = 1;
};

/// benchdnn's text for a row of the shared convolution list.
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

/// The lines of a list, with any of the supported columns.
class ListRows {
public:
  explicit ListRows(const std::string &path)
      : rows(path), convolutions(rows.has("in_channels")), matrices(rows.has("trans_a")) {
    rows.need({"suite", "name", "count"});
    if (convolutions)
      rows.need({"batch", "in_height", "in_width", "out_channels", "kernel_height", "kernel_width", "stride_height",
                 "stride_width", "pad_height", "pad_width", "dilation_height", "dilation_width", "groups"});
    else if (matrices)
      rows.need({"m", "n", "k", "trans_b"});
    else
      rows.need({"kind", "problem"});
  }
  bool next() { return rows.next(); }
  std::string where() const { return rows.where(); }
  const std::string &suite() const { return rows.text("suite"); }
  std::string kind() const { return convolutions ? "conv2d" : matrices ? "gemm" : rows.text("kind"); }
  /// The texts of the line's problems.
  std::vector<std::string> texts() const {
    if (convolutions)
      return {convolutionText(rows)};
    if (!matrices)
      return expandRanges(rows.text("problem"));
    auto text = fmt::format("m{}n{}k{}", rows.whole("m"), rows.whole("n"), rows.whole("k"));
    for (auto &[title, letters] : {std::pair{"trans_a", "ta1"}, {"trans_b", "tb1"}})
      text += rows.whole(title) ? letters : "";
    return {text};
  }
  /// Throws Error that names the line.
  void add(ProblemList &list, const SyntaxOptions &options) const {
    try {
      for (const std::string &text : texts()) {
        ListedProblem entry{
            parseProblem(kind(), text, options), kind(), text, rows.text("name"), {suite()}, rows.whole("count")};
        if (convolutions)
          entry.text = shortText(entry.problem);
        list.add(std::move(entry));
      }
    } catch (const Error &error) {
      std::string message = error.what();
      fail("{}", message.starts_with(where()) ? message : where() + ": " + message);
    }
  }

private:
  Csv rows;
  bool convolutions, matrices;
};

bool matches(const std::string &pattern, const std::string &suite) {
  bool open = !pattern.empty() && pattern.back() == '*';
  return open ? suite.starts_with(pattern.substr(0, pattern.size() - 1)) : pattern == suite;
}

} // namespace

std::vector<ListedProblem> readProblems(const std::vector<std::string> &paths, const std::vector<std::string> &suites,
                                        const SyntaxOptions &options) {
  ProblemList list;
  std::map<std::string, size_t> owners; // suite -> the first list that has it
  std::set<std::string> used;
  for (size_t i = 0; i < paths.size(); ++i)
    for (ListRows rows(paths[i]); rows.next();) {
      auto owner = owners.try_emplace(rows.suite(), i).first;
      auto wanted = std::find_if(suites.begin(), suites.end(),
                                 [&](const std::string &pattern) { return matches(pattern, rows.suite()); });
      if (wanted == suites.end() || owner->second != i)
        continue;
      used.insert(*wanted);
      rows.add(list, options);
    }
  std::vector<std::string> known;
  for (auto &[suite, list] : owners)
    known.push_back(suite);
  for (auto &pattern : suites)
    require(used.count(pattern), "{}: no suite '{}'; there are {}", fmt::join(paths, ", "), pattern,
            fmt::join(known, ", "));
  return list.take();
}

std::vector<ListedProblem> readProblems(const std::string &path, const std::vector<std::string> &suites,
                                        const SyntaxOptions &options) {
  return readProblems(std::vector{path}, suites, options);
}

std::vector<std::string> shippedLists() {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::path installed = fs::read_symlink("/proc/self/exe", ignored).parent_path().parent_path() / "share/lathe/suites";
  for (const fs::path &folder : {installed, fs::path(LATHE_SOURCE_DIR) / "src/laboratory/lab/suites"}) {
    std::vector<std::string> lists;
    for (auto &entry : fs::directory_iterator(folder, ignored))
      if (entry.path().extension() == ".csv")
        lists.push_back(entry.path().string());
    std::sort(lists.begin(), lists.end());
    if (!lists.empty())
      return lists;
  }
  return {};
}

std::vector<SuiteSummary> suitesOf(const std::vector<std::string> &paths) {
  std::vector<SuiteSummary> suites;
  for (const std::string &path : paths)
    for (ListRows rows(path); rows.next();) {
      auto known = std::find_if(suites.begin(), suites.end(), [&](auto &suite) { return suite.name == rows.suite(); });
      if (known == suites.end())
        known = suites.insert(known, SuiteSummary{rows.suite(), path, {}, 0});
      if (known->path != path)
        continue;
      known->kinds.insert(rows.kind());
      known->problems += rows.texts().size();
    }
  return suites;
}

} // namespace lathe::lab
