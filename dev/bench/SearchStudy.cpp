#include "SearchStudy.h"

#include "Study.h"
#include "lab/judging/Statistics.h"
#include "tune/Replay.h"

#include <algorithm>

namespace lathe::study {

constexpr double matters = 1.05; // of the median of random schedules over the best known
constexpr size_t forMedian = 300;

double Studied::randomOff() const {
  std::vector<double> first(random.begin(), random.begin() + std::ptrdiff_t(std::min(forMedian, random.size())));
  return first.empty() ? 0 : lab::median(first) / best;
}

bool Studied::counts() const { return randomOff() > matters; }

static std::vector<double> trialsOf(const Studied &studied, const std::string &searcher) {
  std::vector<double> needed;
  for (const Search &search : studied.searches.at(searcher))
    needed.push_back(trialsUntil(search.seconds, near * studied.best));
  return needed;
}

static std::string number(double value) { return value < never ? fmt::format("{:.0f}", value) : "more"; }

/// A table with a column for each searcher.
static MarkdownTable searcherTable(const std::string &first, const std::vector<std::string> &searchers) {
  std::vector<std::string> titles = {first};
  for (const std::string &searcher : searchers)
    titles.push_back("`" + searcher + "`");
  fmt::print("\n");
  return MarkdownTable(titles);
}

void printTasks(const std::vector<Studied> &all) {
  MarkdownTable table({"task", "network, threads", "points", "random median over best", "prior over best", "counts"});
  for (const Studied &studied : all)
    table.row({studied.task->task.task.label, fmt::format("{}, {}", studied.task->network, studied.task->threads),
               fmt::format("{:.3g}", studied.points), fmt::format("{:.2f}", studied.randomOff()),
               fmt::format("{:.3f}", studied.priorOff), studied.counts() ? "yes" : "no"});
}

/// Number of the trials of a search that end within so many seconds.
static size_t trialsWithin(const Search &search, double seconds) {
  size_t count = 0;
  for (double spent = 0; count < search.cost.size() && (spent += search.cost[count]) <= seconds;)
    ++count;
  return count;
}

/// The best time after some trials over the best known, over all searches of tasks that count.
template <class Trials>
static std::string bestAfter(const std::vector<Studied> &all, const std::string &searcher, const Trials &trials) {
  std::vector<double> ratios;
  for (const Studied &studied : all) {
    if (!studied.counts())
      continue;
    for (const Search &search : studied.searches.at(searcher)) {
      auto end = search.seconds.begin() + std::ptrdiff_t(std::clamp<size_t>(trials(search), 1, search.seconds.size()));
      ratios.push_back(*std::min_element(search.seconds.begin(), end) / studied.best);
    }
  }
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", lab::median(ratios), lab::percentile(ratios, 10),
                     lab::percentile(ratios, 90));
}

static void printNeeded(const std::vector<Studied> &all, const std::vector<std::string> &searchers) {
  fmt::print("\n");
  MarkdownTable table({"searcher", "trials to 3 %", "most", "searches that did not get there"});
  for (const std::string &searcher : searchers) {
    std::vector<double> medians, every;
    for (const Studied &studied : all)
      if (studied.counts()) {
        std::vector<double> needed = trialsOf(studied, searcher);
        medians.push_back(lab::median(needed));
        every.insert(every.end(), needed.begin(), needed.end());
      }
    auto missed = std::count(every.begin(), every.end(), never);
    table.row({"`" + searcher + "`", number(lab::median(medians)),
               number(*std::max_element(medians.begin(), medians.end())),
               fmt::format("{} of {}", missed, every.size())});
  }
}

void printSearchers(const std::vector<Studied> &all, const std::vector<std::string> &searchers) {
  printNeeded(all, searchers);
  auto print = [&](const char *what, std::initializer_list<size_t> numbers, auto &&trialsAfter) {
    MarkdownTable table = searcherTable(what, searchers);
    for (size_t after : numbers) {
      std::vector<std::string> cells = {std::to_string(after)};
      for (const std::string &searcher : searchers)
        cells.push_back(bestAfter(all, searcher, [&](const Search &one) { return trialsAfter(one, after); }));
      table.row(cells);
    }
  };
  print("best after so many trials", {1, 2, 4, 8, 16, 32, 64, 128, 256},
        [](const Search &, size_t after) { return after; });
  print("best after so many seconds", {1, 2, 4, 8, 16, 32},
        [](const Search &search, size_t after) { return trialsWithin(search, double(after)); });
}

void printSearches(const std::vector<Studied> &all, const std::vector<std::string> &searchers) {
  MarkdownTable table = searcherTable("task", searchers);
  for (const Studied &studied : all) {
    if (!studied.counts())
      continue;
    std::vector<std::string> cells = {studied.task->task.task.label};
    for (const std::string &searcher : searchers) {
      std::vector<double> needed = trialsOf(studied, searcher);
      cells.push_back(fmt::format("{} ({} to {})", number(lab::median(needed)),
                                  number(*std::min_element(needed.begin(), needed.end())),
                                  number(*std::max_element(needed.begin(), needed.end()))));
    }
    table.row(cells);
  }
}

} // namespace lathe::study
