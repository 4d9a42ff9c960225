#include "cli/CompilerVerbs.h"
#include "jobs/ModelFormat.h"

#include "cli/flags/Describe.h"
#include "export/onnx/Export.h"
#include "ir/Context.h"
#include "zoo/Zoo.h"

#include <iostream>

namespace lathe::cli {

int zooVerb(const Arguments &arguments) {
  std::string name, output;
  ZooOptions zoo;
  bool list = false;
  Options options(
      "zoo",
      "Write a built-in architecture as ONNX, with seeded random weights. They keep the mean square of the values\n"
      "of every layer near one.",
      "  lathe zoo --list\n  lathe zoo resnet50 -o resnet50.onnx\n  lathe zoo mobilenet_v2 --batch 4 "
      "--seed 1 -o m.onnx\n"
      "Every other verb takes zoo:NAME in place of a file: lathe profile zoo:resnet50\n");
  std::vector<std::string> architectures;
  for (const ZooEntry &entry : zooEntries())
    architectures.push_back(entry.name);
  options.add_option("NAME", name, "architecture")->check(offers(architectures));
  options.addOutput("-o,--output", output, "Write the ONNX file here (default: NAME.onnx; -: standard output)")
      ->type_name("F.onnx");
  auto *batch =
      options.add_option("--batch", zoo.batch, "Set the batch")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  options.add_flag("--dynamic-batch", zoo.dynamicBatch, "Leave the batch open, as symbol N")->excludes(batch);
  options
      .add_option("--sequence", zoo.sequence,
                  "Set the steps or tokens of a network that reads sequences (default: the network's own)")
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("T");
  options.add_option("--seed", zoo.seed, "Set the seed of the weights")->capture_default_str();
  options.add_flag("--list", list, "List the architectures");
  options.addShowing();
  options.afterParse([&] {
    if (list)
      options.refuse({"NAME", "--output", "--batch", "--dynamic-batch", "--sequence", "--seed"},
                     "--list only lists the architectures");
  });
  options.parseAll(arguments);

  if (list) {
    Table table({textColumn("name"), textColumn("what").shrink(20).key("summary")});
    for (const ZooEntry &entry : zooEntries())
      table.row({entry.name, entry.summary});
    if (options.printsText())
      std::cout << table.str(options.tableStyle());
    options.writeJson({{"networks", toJson(table)}});
    return success;
  }
  require(!name.empty(), "give the NAME of an architecture, or --list");
  auto context = makeContext();
  auto module = buildZoo(*context, name, zoo);
  if (output.empty())
    output = name + ".onnx";
  requireNoTerminal(output, "an ONNX file");
  requireOnnxName(output);
  exportOnnxFile(*module, output);
  if (options.printsText())
    std::cout << "wrote " << output << "\n";
  options.writeJson({{"name", name}, {"file", output}, {"batch", zoo.batch}, {"seed", zoo.seed}});
  return success;
}

} // namespace lathe::cli
