#include "cli/print/InspectPackage.h"

#include "cli/print/PortText.h"
#include "jobs/Variants.h"
#include "package/OperationCount.h"
#include "package/Package.h"
#include "runtime/Model.h"
#include "runtime/plan/Program.h"
#include "support/Text.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>

namespace lathe::cli {
namespace {

using nlohmann::json;

/// Header and section table. The loader has checked them.
struct Contents {
  package::Header header{};
  std::vector<package::Section> sections;

  explicit Contents(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    file.read(reinterpret_cast<char *>(&header), sizeof header);
    require(static_cast<bool>(file), "{}: cannot read: {}", path, std::strerror(errno));
    sections.resize(header.sectionCount);
    file.read(reinterpret_cast<char *>(sections.data()),
              static_cast<std::streamsize>(sections.size() * sizeof(package::Section)));
    require(static_cast<bool>(file), "{}: cannot read: {}", path, std::strerror(errno));
  }
};

const char *name(package::SectionKind kind) {
  switch (kind) {
  case package::SectionKind::plan:
    return "plan";
  case package::SectionKind::constants:
    return "constants";
  case package::SectionKind::code:
    return "code";
  }
  return "unknown";
}

std::string describeSections(const Contents &contents, const TableStyle &style, json &list) {
  Table table({textColumn("section"), numberColumn("size").key("size_bytes"), textColumn("hash").drop(2),
               textColumn("target").shrink(12), textColumn("needs").key("features").drop(1).shrink(16)});
  for (const package::Section &section : contents.sections) {
    std::string target(section.target, ::strnlen(section.target, sizeof section.target));
    std::string features = package::featureNames(section.features), hash = fmt::format("{:016x}", section.hash);
    table.row({name(section.kind), valueCell(bytesText(static_cast<double>(section.bytes)), section.bytes), hash,
               target, features});
  }
  list = toJson(table);
  return table.str(style);
}

/// Describes the facts that decide whether a batch passes image by image.
std::string describeImageCosts(const runtime::ImageCosts &costs, json &document) {
  json levels = json::array();
  std::vector<std::string> texts;
  for (size_t i = 0; i < costs.levels.size(); ++i) {
    const MemoryLevel &level = costs.levels[i];
    bool last = i + 1 == costs.levels.size();
    levels.push_back({{"bytes", last ? json() : json(level.bytes)}, {"cycles_per_byte", level.cyclesPerByte}});
    texts.push_back(fmt::format("{} at {:.3g}", last ? "memory" : bytesText(level.bytes), level.cyclesPerByte));
  }
  document["image_costs"] = {{"levels", levels}, {"call_cycles", costs.callCycles}};
  if (texts.empty())
    return "batches pass kernel by kernel\n";
  return fmt::format(
      "batches pass image by image where that costs fewer cycles: {} cycles a byte, {:.3g} cycles a call\n",
      fmt::join(texts, ", "), costs.callCycles);
}

/// Describes measured times that decide instead of these facts.
std::string describeMeasured(const runtime::Plan &plan, json &document) {
  auto timed = std::count_if(plan.instructions.begin(), plan.instructions.end(), [](const auto *instruction) {
    auto *call = std::get_if<runtime::CallKernel>(&instruction->operation);
    return call && call->callSeconds > 0;
  });
  document["measured_choice_count"] = plan.measuredChoices;
  document["timed_kernels"] = timed;
  std::string text;
  if (plan.measuredChoices)
    text += fmt::format("measured times chose layouts or kernels of {}\n",
                        counted(int64_t(plan.measuredChoices), "operator"));
  if (timed)
    text += fmt::format("measured times say how a batch passes {}\n", counted(int64_t(timed), "kernel"));
  return text;
}

/// The kernels in the order of the plan, then the operators that run on references.
std::string describePlan(const runtime::Plan &plan, const TableStyle &style, json &document) {
  Table table({numberColumn("#").onlyText(), textColumn("kernel").key("name").shrink(12), textColumn("family"),
               numberColumn("MFLOP").key("flops"), textColumn("nodes").drop(1).shrink(14),
               textColumn("shapes").drop(3).shrink(16), textColumn("schedule").drop(2).shrink(16),
               textColumn("origin").onlyData(), numberColumn("predicted cycles").onlyData()});
  json references = json::object();
  double flops = 0;
  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    const runtime::KernelInfo &kernel = plan.kernels[i];
    double operations = atOne(plan.extents[kernel.flops]);
    flops += operations;
    table.row({std::to_string(i), kernel.name, kernel.family,
               valueCell(fmt::format("{:.3f}", operations * 1e-6), operations),
               valueCell(fmt::format("{}", fmt::join(kernel.nodes, "+")), kernel.nodes), kernel.shapes, kernel.schedule,
               kernel.origin, valueCell("", kernel.predictedCycles)});
  }
  std::map<std::string, int64_t> calls;
  for (const runtime::Instruction *instruction : plan.instructions)
    if (auto *call = std::get_if<runtime::CallReference>(&instruction->operation))
      ++calls[call->op];
  std::string text = fmt::format("{}, {} a run\n", counted(int64_t(plan.kernels.size()), "kernel"), flopsText(flops));
  if (!plan.kernels.empty())
    text += table.str(style);
  std::string others;
  for (auto &[op, count] : calls) {
    others += fmt::format("{}{} {}", others.empty() ? "" : ", ", count, printable(op));
    references[op] = count;
  }
  if (!others.empty())
    text += fmt::format("references compute: {}\n", others);
  document["kernels"] = toJson(table);
  text += describeImageCosts(plan.imageCosts, document);
  text += describeMeasured(plan, document);
  document["reference_calls"] = std::move(references);
  document["flops"] = flops;
  return text;
}

/// Facts of the machine that the package was compiled for; null if the package does not state them.
json machineOf(const runtime::Model &model) {
  return model.machine().empty() ? json() : json::parse(model.machine(), nullptr, false);
}

} // namespace

int inspectPackage(const Options &options, const std::string &path) {
  // Accepts packages for any processor, because nothing of the package is run.
  auto loaded = runtime::Model::load(path, {.cpuFeatures = ~uint64_t(0)});
  Contents contents(path);
  std::string hash = fmt::format("{:016x}", contents.header.hash);
  json document{{"package", path},
                {"file_bytes", contents.header.fileBytes},
                {"format_version", contents.header.formatVersion},
                {"hash", hash},
                {"producer", loaded->producer()},
                {"source", loaded->source()},
                {"compile_options", loaded->options()},
                {"planned_threads", loaded->plannedThreads()},
                {"inputs", json::array()},
                {"outputs", json::array()},
                {"sections", json::array()}};
  std::string text = fmt::format("{}: package of format {}, {}, hash {}\n", path, contents.header.formatVersion,
                                 bytesText(static_cast<double>(contents.header.fileBytes)), hash);
  text += fmt::format("compiled by {} from {}\n  with {}\n", printable(loaded->producer()),
                      loaded->source().empty() ? "a model without a name" : printable(loaded->source()),
                      printable(loaded->options()));
  if (std::string note = package::paddingNote(loaded->options()); !note.empty()) {
    document["operations_note"] = note;
    text += note + "\n";
  }
  document["machine"] = machineOf(*loaded);
  text += describePorts("input", loaded->inputs(), document["inputs"]);
  text += describePorts("output", loaded->outputs(), document["outputs"]);
  text += "\n" + describeSections(contents, options.tableStyle(), document["sections"]) + "\n";
  document["plans"] = json::array();
  const runtime::Program &program = loaded->program();
  document["symbols"] = symbolTexts(program);
  if (std::vector<std::string> symbols = symbolTexts(program); !symbols.empty())
    text += fmt::format("extents known at run time: {}\n", printable(listed(symbols)));
  for (const runtime::Plan &plan : program.plans) {
    std::string variant = variantText(program, plan);
    document["plans"].push_back({{"variant", variant}});
    if (program.plans.size() > 1)
      text += fmt::format("\n{}: ", variant.empty() ? "any other extents" : "variant " + printable(variant));
    text += describePlan(plan, options.tableStyle(), document["plans"].back());
  }
  if (options.printsText())
    std::cout << text;
  options.writeJson(document);
  return success;
}

} // namespace lathe::cli
