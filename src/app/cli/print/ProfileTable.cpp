#include "cli/print/ProfileTable.h"

#include "cli/Common.h"
#include "schedule/Algorithms.h"

namespace lathe::cli {

ElementType factorsOf(const runtime::InstructionInfo &info) {
  std::string type;
  try {
    Schedule schedule = readSchedule(std::string(info.schedule));
    if (validate(schedule).find("type"))
      type = schedule.word("type");
  } catch (const Error &) { // a package of another version
  }
  return type == "bf16" ? ElementType::bf16 : type.empty() || type == "f32" ? ElementType::f32 : ElementType::i8;
}

namespace {

bool isKernel(const runtime::InstructionInfo &info) { return std::string_view(info.kind) == "kernel"; }

double perSecond(double amount, double seconds) { return seconds > 0 ? amount / seconds * 1e-9 : 0; }

std::string percent(double share) { return fmt::format("{:.0f} %", share * 100); }

} // namespace

ProfileTable::ProfileTable(const lab::MachineCeilings &machine, int threads, double seconds, double clockGhz)
    : machine(machine), threads(threads), whole(seconds), clock(clockGhz * 1e9),
      table({numberColumn("#"), numberColumn("", "ms"), numberColumn("share"), textColumn("type").drop(3),
             numberColumn("GFLOPS"), numberColumn("GB/s").drop(2), numberColumn("roofline"),
             numberColumn("predicted").drop(1), textColumn("bound by").drop(3), textColumn("kind"),
             textColumn("nodes").shrink(14), textColumn("shapes").drop(5).shrink(16),
             textColumn("schedule").drop(4).shrink(16), textColumn("chosen by").drop(6).shrink(16)}) {}

void ProfileTable::add(const runtime::InstructionInfo &info, double seconds, double least) {
  ElementType type = factorsOf(info);
  lab::Roofline roofline = lab::roofline(machine, type, info.flops, info.bytes, seconds, threads);
  bool kernel = isKernel(info), known = clock > 0 && info.predictedCycles > 0;
  double expected = known ? info.predictedCycles / clock : 0;
  flops += info.flops;
  bytes += info.bytes;
  limit += roofline.limitSeconds;
  missing += kernel && !known;
  predicted += expected;
  predictedOf += known ? seconds : 0;
  addRow(info, seconds, expected, roofline);
  auto orNull = [&](double value) { return known ? nlohmann::json(value) : nlohmann::json(); };
  json.push_back({{"index", json.size()},
                  {"kind", info.kind},
                  {"name", info.name},
                  {"family", info.family},
                  {"nodes", info.nodes},
                  {"shapes", info.shapes},
                  {"schedule", info.schedule},
                  {"origin", info.origin},
                  {"time_ms", seconds * 1e3},
                  {"min_ms", least * 1e3},
                  {"share", seconds / whole},
                  {"flops", info.flops},
                  {"bytes", info.bytes},
                  {"gflops", perSecond(info.flops, seconds)},
                  {"type", kernel ? std::string(name(type)) : ""},
                  {"gb_s", perSecond(info.bytes, seconds)},
                  {"roofline_share", kernel ? roofline.share : 0},
                  {"limit_ms", roofline.limitSeconds * 1e3},
                  {"bound", kernel ? roofline.bound : ""},
                  {"image_by_image", info.imageByImage},
                  {"predicted_cycles", orNull(info.predictedCycles)},
                  {"predicted_ms", orNull(expected * 1e3)},
                  {"predicted_share", orNull(seconds > 0 ? expected / seconds : 0)}});
}

void ProfileTable::addRow(const runtime::InstructionInfo &info, double seconds, double predictedSeconds,
                          const lab::Roofline &roofline) {
  auto ofKernel = [&](std::string text) { return isKernel(info) ? std::move(text) : std::string(); };
  std::string expected = predictedSeconds > 0 && seconds > 0 ? percent(predictedSeconds / seconds) : "";
  table.row({std::to_string(json.size()), millisecondsText(seconds), fmt::format("{:.1f} %", seconds / whole * 100),
             ofKernel(std::string(name(factorsOf(info)))),
             ofKernel(fmt::format("{:.1f}", perSecond(info.flops, seconds))),
             ofKernel(fmt::format("{:.1f}", perSecond(info.bytes, seconds))), ofKernel(percent(roofline.share)),
             expected, ofKernel(roofline.bound), isKernel(info) ? std::string(info.family) : info.kind,
             fmt::format("{}", fmt::join(info.nodes, "+")), std::string(info.shapes), std::string(info.schedule),
             std::string(info.origin)});
}

void ProfileTable::finish(double overhead) {
  table.row({"", millisecondsText(overhead), fmt::format("{:.1f} %", overhead / whole * 100), "", "", "", "", "", "",
             "overhead"});
  table.row({"", millisecondsText(whole), "100.0 %", "", fmt::format("{:.1f}", gflops()),
             fmt::format("{:.1f}", gigabytesPerSecond()), percent(rooflineShare()),
             predictedOf > 0 ? percent(predicted / predictedOf) : "", "", "whole"});
}

} // namespace lathe::cli
