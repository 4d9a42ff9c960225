// `lathe store import` and `merge`.
#include "cli/verbs/store/StoreImport.h"

#include "cli/flags/StoreFlags.h"
#include "cli/verbs/store/StoreVerbs.h"
#include "lab/foreign/Foreign.h"
#include "support/Text.h"

#include <iostream>

namespace lathe::cli {

using nlohmann::json;

json countsJson(const store::Store::Counts &counts) {
  return {{"platforms", counts.platforms},
          {"experiments", counts.experiments},
          {"points", counts.points},
          {"samples", counts.samples},
          {"tuning", counts.tuning}};
}

int importFiles(const Options &options, const std::string &path, const std::vector<std::string> &files,
                store::Imported what, const std::string &format) {
  bool everything = what == store::Imported::everything;
  store::Store store(path);
  std::vector<store::RecordSource> sources;
  for (const std::string &file : files)
    sources.push_back(everything ? lab::importSource(file, format) : store::sourceOf(file));
  store::ImportCounts counts = store::importSources(store, sources, what);
  Table table({textColumn(""), numberColumn("added"), numberColumn("replaced"), numberColumn("known")});
  json document = {{"store", store.path()}, {"counts", countsJson(store.counts())}};
  auto add = [&](const char *title, const store::ImportCounts::Kind &kind) {
    table.row({title, std::to_string(kind.added), std::to_string(kind.replaced), std::to_string(kind.known)});
    document[title] = {{"added", kind.added}, {"replaced", kind.replaced}, {"known", kind.known}};
  };
  add("platforms", counts.platforms);
  add("experiments", counts.experiments);
  if (everything)
    add("points", counts.points);
  add("tuning", counts.tuning);
  if (everything)
    add("labels", counts.labels);
  std::string said = counted(int64_t(counts.tuning.added), "tuning record");
  if (everything) {
    document["samples"] = counts.samples;
    said = counted(int64_t(counts.samples), "sample");
  }
  if (options.printsText())
    std::cout << table.str() << fmt::format("{}: {} added\n", store.path(), said);
  for (const std::string &note : counts.notes)
    std::cerr << fmt::format("lathe: {}\n", printable(note));
  document["notes"] = counts.notes;
  options.writeJson(document);
  return success;
}

int storeImport(const Arguments &arguments) {
  StoreFlags flags;
  std::vector<std::string> files;
  std::string format;
  Options options(
      "store import",
      "Add archives, store files and stores of servers, of this machine or others, and results of other programs to\n"
      "the store: output of benchdnn, profiles of ONNX Runtime, JSON of Google Benchmark, logs of AutoTVM. What other\n"
      "programs measured is marked as not verified here (docs/store.md). All files are checked first; then either all\n"
      "are added or none. Of two measurements of one point the later one stays.",
      "  lathe store import laptop.jsonl.gz server.db\n"
      "  lathe store import benchdnn.log onnxruntime_profile.json\n");
  options
      .add_option("file", files,
                  "archives (`lathe store export`), store files, URLs of servers and results of other programs")
      ->required();
  auto formats = lab::importFormats();
  options
      .add_option("--format", format,
                  fmt::format("Read the files in this format: {} (default: by content)", fmt::join(formats, ", ")))
      ->check(CLI::IsMember(std::vector<std::string>(formats.begin(), formats.end())));
  flags.add(options);
  options.addJson();
  options.parseAll(arguments);
  return importFiles(options, flags.path(), files, store::Imported::everything, format);
}

int storeMerge(const Arguments &arguments) {
  std::string into;
  std::vector<std::string> files;
  Options options(
      "store merge",
      "Merge archives and stores, in files or on servers, into the store INTO, which is created if it does not "
      "exist.",
      "  lathe store merge all.db laptop.jsonl.gz server.db\n"
      "  lathe store merge postgresql://db/team laptop.db\n"
      "  lathe store merge mine.db postgresql://db/team\n");
  options.add_option("into", into, "store to write: a file, or the URL of a server")->required();
  options.add_option("file", files, "archives (`lathe store export`), store files and URLs of servers")->required();
  options.addJson();
  options.parseAll(arguments);
  return importFiles(options, into, files, store::Imported::everything, "lathe");
}

} // namespace lathe::cli
