// `lathe ops diff`: two experiments, point by point.
#include "cli/FrontVerbs.h"
#include "cli/flags/Describe.h"
#include "cli/flags/StoreFlags.h"
#include "cli/print/ops/AnalyzeTables.h"
#include "store/Archive.h"
#include "support/Text.h"

#include <algorithm>
#include <filesystem>
#include <iostream>

namespace lathe::cli {
namespace {

using nlohmann::json;

/// The points of a file, or of the experiment whose id begins with `name`.
std::vector<report::Row> sideOf(const std::string &name, const StoreFlags &flags) {
  if (!std::filesystem::is_regular_file(name)) {
    require(store::Location(flags.path()).mayExist(), "'{}' is not a file, and the store {} does not exist", name,
            flags.path());
    store::Store store = flags.open();
    return report::rowsOf(store, {.experiments = {store.experiment(name).uuid}});
  }
  if (store::isStoreFile(name)) {
    store::Store copy = store::Store::copyOf(name);
    return report::rowsOf(copy, {});
  }
  json document = json::parse(readFile(name), nullptr, false);
  bool results = document.is_object() && !document.contains("lathe_store");
  return results ? report::rowsOfResults(document, name) : report::rowsOfArchive(name);
}

struct DiffFlags {
  StoreFlags store;
  std::string before;
  std::vector<std::string> after;
  std::vector<std::string> failOn;
  bool all = false;
  size_t rows = 40;

  void add(Options &options) {
    const char *side = "an experiment's id or its beginning, a store file, an archive (`lathe store export`), or a\n"
                       "file of `lathe ops bench --json`";
    options.add_option("before", before, side)->required();
    options
        .add_option("after", after, "the other side, in one of the same forms; several are each compared with before")
        ->required();
    options
        .add_option("--fail-on", failOn,
                    "Return exit code 1 on these, by commas: slower, slower:3% (verdict slower, by more than 3 %), "
                    "failed (passed before), missing")
        ->delimiter(',')
        ->check(offers({"slower", "failed", "missing"}))
        ->type_name("RULE");
    options.add_flag("--all", all, "Show also points that are the same");
    options.add_option("--rows", rows, "Show at most this many rows (0: all); JSON has all")->capture_default_str();
    store.add(options);
    options.addWide();
    options.addJson();
    options.afterParse([this, &options] {
      auto isFile = [](const std::string &side) { return std::filesystem::is_regular_file(side); };
      if (isFile(before) && std::all_of(after.begin(), after.end(), isFile))
        options.refuse({"--store"}, "all sides are files, no store is read");
    });
  }

  std::vector<report::FailRule> rules() const {
    std::vector<report::FailRule> rules;
    for (const std::string &text : failOn)
      try {
        rules.push_back(report::FailRule::parse(text));
      } catch (const Error &error) {
        fail("--fail-on {}", error.what());
      }
    return rules;
  }
};

/// Compares experiments with the first one.
class Comparing {
public:
  Comparing(const DiffFlags &flags, const Options &options)
      : flags(flags), options(options), rules(flags.rules()), old(sideOf(flags.before, flags.store)) {
    require(!old.empty(), "{}: has no points", flags.before);
    note(flags.before, old);
  }

  /// Compares, prints, and returns the document. `violated` counts violations of the rules.
  json with(const std::string &after, size_t &violated) const {
    std::vector<report::Row> now = sideOf(after, flags.store);
    require(!now.empty(), "{}: has no points", after);
    report::Diff diff = report::diff(old, now);
    json violations = json::array();
    for (size_t i = 0; i < rules.size(); ++i) {
      try {
        rules[i].requireDecidable(diff);
      } catch (const Error &error) {
        fail("--fail-on {}: {}: {}", flags.failOn[i], after, error.what());
      }
      auto count = std::count_if(diff.points.begin(), diff.points.end(), [&](auto &p) { return rules[i].holds(p); });
      violated += size_t(count);
      violations.push_back({{"rule", flags.failOn[i]}, {"points", count}});
    }
    if (options.printsText()) {
      if (flags.after.size() > 1)
        std::cout << fmt::format("\n{} -> {}\n", flags.before, after);
      note(after, now);
      std::cout << diffText(diff, flags.all, options.tableStyle(flags.rows));
      for (auto &violation : violations)
        std::cout << fmt::format("--fail-on {}: {}\n", violation["rule"].get<std::string>(),
                                 counted(violation["points"].get<int64_t>(), "point"));
    }
    json document = toJson(diff);
    document["before"] = flags.before;
    document["after"] = after;
    document["fail_on"] = violations;
    return document;
  }

private:
  void note(const std::string &side, const std::vector<report::Row> &rows) const {
    if (std::string note = report::unverifiedNote(rows); options.printsText() && !note.empty())
      std::cout << fmt::format("{}: {}", side, note);
  }

  const DiffFlags &flags;
  const Options &options;
  std::vector<report::FailRule> rules;
  std::vector<report::Row> old;
};

} // namespace

int diffVerb(const Arguments &arguments) {
  DiffFlags flags;
  Options options(
      "ops diff",
      "Compare experiments with a first one point by point: ratios of medians with intervals, verdicts, changes of "
      "status,\n"
      "points of one side only. Faster and slower need six starts of each side (`lathe ops bench --starts 6`).\n"
      "The sides were not measured in turns, so use a quiet machine; `lathe compare` and `lathe ops bench`\n"
      "measure in turns. Exit code 1 when --fail-on holds for a point.",
      "  lathe ops diff 3f2a 91c0\n"
      "  lathe ops diff before.jsonl.gz after.jsonl.gz --fail-on slower:3%,failed,missing\n"
      "  lathe ops diff bench-monday.json bench-today.json --json -\n"
      "  lathe ops diff release.jsonl.gz monday.jsonl.gz tuesday.jsonl.gz --fail-on slower\n");
  flags.add(options);
  options.parseAll(arguments);

  Comparing comparing(flags, options);
  size_t violated = 0;
  json documents = json::array();
  for (const std::string &after : flags.after)
    documents.push_back(comparing.with(after, violated));
  options.writeJson(documents.size() == 1 ? documents[0] : json{{"before", flags.before}, {"comparisons", documents}});
  return violated ? failedVerdict : success;
}

} // namespace lathe::cli
