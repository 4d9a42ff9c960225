#include "cli/verbs/store/StoreImport.h"

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

} // namespace lathe::cli
