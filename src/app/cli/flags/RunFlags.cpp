#include "cli/flags/RunFlags.h"

#include "cli/flags/StoreFlags.h"
#include "jobs/store/Labels.h"

namespace lathe::cli {

void addInputs(Options &options, InputOptions &inputs, const std::string &defaultFill, bool oneBatch) {
  HelpSection section(options, "Inputs");
  inputs.fill = defaultFill;
  options.reads([&] { return filesOf(inputs); });
  options
      .add_option("-i,--input", inputs.given,
                  "Read an input: NAME=FILE.npy, NUMBER=FILE.npy (from 0), FILE.npy for a single input, FILE.npz, or a "
                  "folder of .npy files; floats are quantised where the input has a scale")
      ->type_name("INPUT");
  options.add_option("--fill", inputs.fill, "Fill the inputs that no --input gives with zeros, ones or random numbers")
      ->check(CLI::IsMember({"zeros", "ones", "random"}))
      ->capture_default_str();
  options.add_option("--seed", inputs.seed, "Set the seed of random inputs")->capture_default_str();
  if (oneBatch)
    options.add_option("--batch", inputs.batch, "Set the extent of symbolic first dimensions (default: 1)")
        ->check(CLI::Range(int64_t(1), int64_t(1) << 31));
  options.afterParse([&] {
    inputs.fillAsked = options.given("--fill");
    inputs.seedAsked = options.given("--seed");
    require(!inputs.seedAsked || inputs.fill.empty() || inputs.fill == "random",
            "--seed {}: --fill {} draws no random numbers", inputs.seed, inputs.fill);
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

void addRecord(Options &app, RecordOptions &record, ModelOptions *compiled) {
  HelpSection section(app, "Storing");
  app.reads(
      [&record] { return record.off || record.file.empty() ? std::vector<std::string>{} : storeFiles(record.file); });
  auto *store = app.add_option("--store", record.file,
                               compiled ? "Store the measurements in this file or on this server, "
                                          "postgresql://HOST/DATABASE, and use its tuning records (default: "
                                          "~/.local/share/lathe/lathe.db)"
                                        : "Store the measurements in this file or on this server, "
                                          "postgresql://HOST/DATABASE (default: ~/.local/share/lathe/lathe.db)");
  if (compiled)
    app.afterParse([&record, compiled] { compiled->store = record.file; });
  store->type_name("FILE|URL");
  auto *none = app.add_flag("--no-store", record.off, "Do not store the measurements")->excludes(store);
  addTags(app, record.tags, "Tag the experiment in the store with these words")->excludes(none);
  app.add_option("--note", record.note, "Attach this note to the experiment in the store")->excludes(none);
  app.add_option("--name", record.name, "Give the experiment this name in the store")->excludes(none);
  app.afterParse([&record] {
    labelsOf("-", record.tags, record.note, record.name);
  }); // wrong texts are errors before anything is measured
}

void addSteps(Options &options, StepOptions &steps) {
  options
      .add_option("--steps", steps.steps,
                  "Run this many times, one after the other, with the states kept between the runs")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 31))
      ->capture_default_str();
  options
      .add_option(
          "--state", steps.states,
          "Pass an output on as an input of the next run (docs/state.md): INPUT=OUTPUT, with * for a common part "
          "of several names; with :max=POSITIONS it grows in place")
      ->type_name("IN=OUT");
}

} // namespace lathe::cli
