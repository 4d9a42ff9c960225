// `lathe store export`: measurements as files.
#include "cli/flags/StoreFlags.h"
#include "cli/verbs/store/StoreImport.h"
#include "cli/verbs/store/StoreVerbs.h"
#include "jobs/store/Export.h"
#include "store/Archive.h"
#include "support/Text.h"

#include <iostream>

namespace lathe::cli {

int storeExport(const Arguments &arguments) {
  StoreFlags flags;
  FilterFlags filters;
  std::string file, format = "jsonl";
  bool samples = false;
  Options options("store export",
                  "Write measurements as an archive that `lathe store import` reads, or in another program's format.\n"
                  "A FILE whose name ends in .gz is compressed.",
                  "  lathe store export all.jsonl.gz\n"
                  "  lathe store export points.csv --format csv --kind ops\n"
                  "  lathe store export - --format csv --samples --experiment 3f2a\n"
                  "  lathe store export bench.json --format benchmark-json --experiment 3f2a\n");
  options.addOutput("file", file, "file to write (-: standard output)")->required();
  options
      .add_option("--format", format,
                  "Set the format: jsonl (archive), csv (one row a point) or benchmark-json (Google Benchmark)")
      ->check(CLI::IsMember({"jsonl", "csv", "benchmark-json"}))
      ->capture_default_str();
  options.add_flag("--samples", samples, "Write one row a sample, with --format csv");
  flags.add(options);
  filters.add(options);
  options.addJson();
  options.parseAll(arguments);
  require(!samples || format == "csv", "--samples: only --format csv has rows of samples, got {}", format);
  require(file != "-" || options.printsText() || !options.given("--json"),
          "--json -: the archive goes to standard output already");
  store::Store store = flags.open();
  store::Filter filter = filters.filter(store);
  std::string said;
  nlohmann::json document = {{"file", file}, {"format", format}};
  if (format == "jsonl") {
    store::Store::Counts counts = store::exportArchive(store, filter, file);
    document["counts"] = countsJson(counts);
    auto of = [](auto count, const char *noun) { return counted(int64_t(count), noun); };
    said = fmt::format("{}, {}, {}, {}", of(counts.experiments, "experiment"), of(counts.points, "point"),
                       of(counts.samples, "sample"), of(counts.tuning, "tuning record"));
  } else {
    size_t rows = format == "benchmark-json" ? exportBenchmarkJson(store, filter, file)
                  : samples                  ? exportSamplesCsv(store, filter, file)
                                             : exportPointsCsv(store, filter, file);
    document["rows"] = rows;
    if (format == "csv")
      for (const CsvColumn &column : samples ? sampleColumns() : pointColumns())
        document["columns"].push_back({{"name", column.name}, {"type", column.type}});
    said = counted(int64_t(rows), samples ? "sample" : "point");
  }
  if (options.printsText())
    std::cout << fmt::format("{}: {}\n", file, said);
  options.writeJson(document);
  return success;
}

} // namespace lathe::cli
