#include "cli/RunFlags.h"

#include "cli/StoreFlags.h"

namespace lathe::cli {

void InputFlags::add(Options &options, const std::string &defaultFill, bool oneBatch) {
  HelpSection section(options, "Inputs");
  fill = defaultFill;
  options.reads([this] { return filesOf(*this); });
  options
      .add_option("-i,--input", given,
                  "Read an input: NAME=FILE.npy, NUMBER=FILE.npy (from 0), FILE.npy for a single input, FILE.npz, or a "
                  "folder of .npy files; floats are quantised where the input has a scale")
      ->type_name("INPUT");
  options.add_option("--fill", fill, "Fill the inputs that no --input gives with zeros, ones or random numbers")
      ->check(CLI::IsMember({"zeros", "ones", "random"}))
      ->capture_default_str();
  options.add_option("--seed", seed, "Set the seed of random inputs")->capture_default_str();
  if (oneBatch)
    options.add_option("--batch", batch, "Set the extent of symbolic first dimensions (default: 1)")
        ->check(CLI::Range(int64_t(1), int64_t(1) << 31));
  options.afterParse([this, &options] {
    fillAsked = options.given("--fill");
    seedAsked = options.given("--seed");
    require(!seedAsked || fill.empty() || fill == "random", "--seed {}: --fill {} draws no random numbers", seed, fill);
  });
}

void addBatches(Options &options, std::string &text) {
  HelpSection section(options, "Inputs");
  options
      .add_option("--batch", text,
                  "Set the extent of symbolic first dimensions; several measure one package at each: 1,2,4, 8..64 "
                  "(doubled) or 8..64:8 (steps of 8) (default: 1)")
      ->type_name("N,...");
}

void RecordFlags::add(Options &app, ModelFlags *compiled) {
  HelpSection section(app, "Storing");
  app.reads([this] { return off || file.empty() ? std::vector<std::string>{} : storeFiles(file); });
  auto *store = app.add_option("--store", file,
                               compiled ? "Store the measurements in this file or on this server, "
                                          "postgresql://HOST/DATABASE, and use its tuning records (default: "
                                          "~/.local/share/lathe/lathe.db)"
                                        : "Store the measurements in this file or on this server, "
                                          "postgresql://HOST/DATABASE (default: ~/.local/share/lathe/lathe.db)");
  if (compiled)
    app.afterParse([this, compiled] { compiled->store = file; });
  store->type_name("FILE|URL");
  auto *none = app.add_flag("--no-store", off, "Do not store the measurements")->excludes(store);
  addTags(app, tags, "Tag the experiment in the store with these words")->excludes(none);
  app.add_option("--note", note, "Attach this note to the experiment in the store")->excludes(none);
  app.add_option("--name", name, "Give the experiment this name in the store")->excludes(none);
  app.afterParse([this] { labelsOf("-", tags, note, name); }); // wrong texts are errors before anything is measured
}

} // namespace lathe::cli
