// `lathe ops`: single operators in the laboratory.
#include "cli/FrontVerbs.h"
#include "cli/flags/OpsFlags.h"
#include "cli/flags/RunFlags.h"
#include "cli/print/ops/OpsPrint.h"
#include "jobs/ops/ProblemLists.h"

#include <iostream>

namespace lathe::cli {
namespace {

using nlohmann::json;

int listSuites(const OpsFlags &flags, const Options &options) {
  Table suites = suiteTable(lab::suitesOf(problemLists(flags.problems)));
  if (options.printsText())
    std::cout << suites.str(options.tableStyle());
  options.writeJson({{"suites", jobs::toJson(suites)}});
  return success;
}

int opsBench(const Arguments &arguments) {
  OpsFlags flags;
  Options options(
      "ops bench",
      "Time libraries on single operators side by side. Every output is first checked against the reference;\n"
      "a wrong output gets no time. Each provider chooses the layout of its activations and packs its weights before\n"
      "the timing (variant `plain`: row-major activations). The first provider is ours: a ratio is a peer's best time\n"
      "over our best time. Exit code 1 if a point failed, is mistrusted, crashed, timed out or exceeded its memory "
      "limit.",
      "  lathe ops bench conv2d ic64ih56oc64kh3ph1\n"
      "  lathe ops bench --suite networks/resnet50 --cache hot,cold --dry-run\n"
      "  lathe ops bench conv2d --suite 'deepbench/*' --provider lathe,onednn:auto,onednn:winograd --threads 1,2\n"
      "  lathe ops bench conv2d ic64ih56oc64kh3ph1 --layout any,row,blocked --schedule 'default,records'\n"
      "  lathe ops bench softmax 128x1000 12x128x128 --provider all\n"
      "  lathe ops bench --from-model resnet50.onnx --provider lathe,onnxruntime\n"
      "  lathe ops bench conv2d ic64ih56oc64kh3ph1 --provider lathe --beside fc:mb1ic2048oc1000\n"
      "  lathe ops bench gemm m{64..1024*2}n1024k1024 --via \"ssh board\" --via-directory /opt/lathe/bin\n");
  flags.add(options);
  addRecord(options, flags.record);
  options.addShowing();
  options.parseAll(arguments);
  if (flags.listsSuites())
    return listSuites(flags, options);
  flags.finish();
  flags.command = arguments;
  auto problems = flags.listed();
  if (flags.list || flags.dryRun) {
    std::cout << (flags.list ? listText(problems, options.tableStyle())
                             : effortText(effortOf(flags, problems), problems.size()));
    return success;
  }
  OpsRows result = benchOps(flags, problems, [&](const std::string &resumed, const json &row) {
    if (options.printsText())
      std::cout << resumed << (row.is_null() ? "" : rowText(row, options.tableStyle().width)) << std::flush;
  });
  if (options.printsText())
    std::cout << opsText(result, options.tableStyle());
  options.writeJson(opsJson(result));
  return result.wrongPoints() ? failedVerdict : success;
}

int problemsOps(const Arguments &arguments) { return forwardToCompiler("problems", arguments); }

const Verb opsVerbs[] = {
    {"bench", "Time libraries on single operators side by side", opsBench},
    {"problems", "List a model's operators as problems for bench", problemsOps},
    {"analyze", "Analyse the measurements in the store", analyzeVerb},
    {"diff", "Compare experiments point by point", diffVerb},
};

} // namespace

int opsVerb(const Arguments &arguments) {
  return runSubVerb("ops", "Compare libraries on single operators and analyse the measurements.\n", opsVerbs,
                    "  lathe ops bench conv2d ic64ih56oc64kh3ph1 --provider lathe,onednn\n"
                    "  lathe ops problems zoo:resnet18\n"
                    "  lathe ops analyze --what best\n"
                    "  lathe ops diff before.jsonl.gz after.jsonl.gz\n",
                    arguments);
}

} // namespace lathe::cli
