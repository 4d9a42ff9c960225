#include "cli/CompilerVerbs.h"
#include "codegen/target/Target.h"
#include "jobs/Terminal.h"
#include "lab/machine/Machine.h"
#include "support/Text.h"

#include <bit>
#include <iostream>
#include <nlohmann/json.hpp>

namespace lathe::cli {
namespace {

std::string describeCeilings(const lab::MachineCeilings &machine, const TableStyle &style) {
  size_t most = 0;
  for (const auto &ceiling : machine.arithmetic)
    most = std::max(most, ceiling.gflops.size());
  std::vector<TableColumn> columns{textColumn("GFLOPS"), textColumn("instruction").drop(1)};
  for (size_t t = 1; t <= most; ++t) { // for many threads only one, the powers of two and all of them
    bool telling = t == 1 || t == most;
    columns.push_back(numberColumn(counted(int64_t(t), "thread")).drop(telling ? 0 : std::has_single_bit(t) ? 2 : 3));
  }
  Table arithmetic(columns);
  for (const auto &ceiling : machine.arithmetic) {
    std::vector<TableCell> cells{std::string(name(ceiling.type)), ceiling.instruction};
    for (double gflops : ceiling.gflops)
      cells.push_back(fmt::format("{:.1f}", gflops));
    arithmetic.row(cells);
  }
  Table memory({textColumn("GB/s"), numberColumn("capacity"), numberColumn("threads"), numberColumn("read"),
                numberColumn("write"), numberColumn("copy")});
  for (const auto &level : machine.levels)
    for (size_t t = 0; t < level.bandwidth.size(); ++t)
      memory.row({level.name, level.bytes ? bytesText(static_cast<double>(level.bytes)) : "", std::to_string(t + 1),
                  fmt::format("{:.1f}", level.bandwidth[t].read), fmt::format("{:.1f}", level.bandwidth[t].write),
                  fmt::format("{:.1f}", level.bandwidth[t].copy)});
  return arithmetic.str(style) + "\n" + memory.str(style);
}

} // namespace

int machineVerb(const Arguments &arguments) {
  bool refresh = false;
  int threads = 0;
  Options options(
      "machine",
      "Measure arithmetic rates by type, and bandwidths of caches and memory, by number of threads. The results\n"
      "are kept in ~/.cache/lathe/machine.json and read from there afterwards. Measuring waits for a quiet machine, 60 "
      "s\n"
      "at most, and keeps no figures that cannot be right. Then show the facts that the compiler\n"
      "plans with, and the source of each: system, measured, table (by CPU), fitted (table, from timed schedules of\n"
      "the CPU) or generic (by instruction set). Another machine compiles for this one with --machine and the file\n"
      "of --json.",
      "  lathe machine\n  lathe machine --refresh --json machine.json\n");
  options.add_flag("--refresh", refresh, "Measure again instead of reading the kept results");
  options
      .add_option("--threads", threads, "Measure again, with 1 to N threads (default: all that this process may use)")
      ->check(CLI::Range(1, 1024));
  options.addShowing();
  options.parseAll(arguments);

  Progress progress("machine");
  lab::MeasureOptions measure;
  measure.maxThreads = threads;
  measure.progress = [&](std::string_view what, int done, int total) {
    progress.update(std::string(what), static_cast<size_t>(done), static_cast<size_t>(total));
  };
  measure.say = [](const std::string &line) { say("lathe machine: " + line); };
  const lab::MachineCeilings *kept = refresh || threads ? nullptr : lab::keptCeilings();
  const lab::MachineCeilings &machine = kept ? *kept : lab::refreshMachineCeilings(measure);
  const MachineFacts facts = Target::parse("native").machine; // after measuring, with the new rates
  if (options.printsText()) {
    std::cout << fmt::format("{} ({}), {}, {}\n", machine.cpu, machine.architecture, counted(machine.cores, "core"),
                             counted(machine.hardwareThreads, "hardware thread"));
    std::cout << fmt::format(
        "{}{}{}; measured {}\n", machine.kernel, machine.governor.empty() ? "" : ", governor " + machine.governor,
        machine.virtualized ? ", virtual machine (" + machine.hypervisor + ")" : "", machine.measured);
    std::cout << fmt::format("features: {}\n\n", fmt::join(machine.features, " "))
              << describeCeilings(machine, options.tableStyle());
    Table known({textColumn("the compiler knows"), textColumn("value").shrink(24), textColumn("source")});
    for (const FactRow &row : describeFacts(facts))
      known.row({row.fact, row.value, row.source});
    std::cout << "\n" << known.str(options.tableStyle());
  }
  nlohmann::json document = lab::toJson(machine);
  document["facts"] = toJson(facts);
  options.writeJson(document);
  return success;
}

} // namespace lathe::cli
