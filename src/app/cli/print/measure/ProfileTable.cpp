#include "cli/print/measure/ProfileTable.h"

#include "jobs/profile/KernelGraph.h"
#include "package/OperationCount.h"
#include "support/Text.h"

#include <algorithm>
#include <cmath>

namespace lathe::cli {

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
                  {"constant_bytes", info.constantBytes},
                  {"work_item_count", info.workItems},
                  {"first_slot", info.planned.first},
                  {"slot_count", info.planned.count},
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

ProfileTable profileTable(const Profile &profile) {
  ProfileTable table(profile.machine, profile.threads(), profile.mean.whole, profile.predicts() ? profile.clock : 0);
  for (size_t i = 0; i < profile.count; ++i)
    table.add(profile.prepared.context->instruction(i), profile.mean.rows[i], profile.least[i]);
  table.finish(profile.mean.overhead);
  return table;
}

namespace {

/// LLVM's name of the CPU that the package was compiled for; "" if the package does not tell.
std::string plannedMachine(const runtime::Model &model) {
  nlohmann::json machine = nlohmann::json::parse(model.machine(), nullptr, false);
  return machine.is_object() ? machine.value("cpu", "") : "";
}

/// Says what the column `predicted` is, and where it is empty.
std::string predictionText(const runtime::Model &model, int threads, double clockGhz, size_t missing) {
  if (int planned = model.plannedThreads(); planned != threads)
    return planned ? fmt::format("no predictions: the schedules were chosen for {}\n", counted(planned, "thread")) : "";
  std::string text =
      fmt::format("predicted: share of the measured time that the cost model expects, for {} at {:.2f} GHz",
                  printable(plannedMachine(model)), clockGhz);
  if (missing)
    text += fmt::format("; none for {}", counted(int64_t(missing), "kernel"));
  return text + "\n";
}

double keptPeak(ElementType type, int threads) { return lab::machineCeilings().gflops(type, threads); }

/// "118.2 GFLOPS f32, 470.1 i8 beside these runs (117.4, 469.0 in lathe machine)"
std::string peaksText(const Profile &profile, int threads) {
  std::string now, kept;
  for (auto [type, peak] : profile.peaks) {
    now += fmt::format("{}{:.1f}{} {}", now.empty() ? "" : ", ", peak, now.empty() ? " GFLOPS" : "", name(type));
    kept += fmt::format("{}{:.1f}", kept.empty() ? "" : ", ", keptPeak(type, threads));
  }
  return fmt::format("{} beside these runs ({} in lathe machine)", now, kept);
}

/// "slots: busy 94.1 % (93.0 to 95.2) of the run, ...": means over the slots with the range; "" without figures.
std::string slotsText(const Profile &profile) {
  if (profile.slots.empty())
    return "";
  auto part = [&](const char *what, double SlotUse::*seconds) {
    double sum = 0, least = INFINITY, most = 0;
    for (const SlotUse &slot : profile.slots) {
      double share = slot.*seconds / (slot.busy + slot.waiting + slot.idle) * 100;
      sum += share;
      least = std::min(least, share);
      most = std::max(most, share);
    }
    return fmt::format("{} {:.1f} % ({:.1f} to {:.1f})", what, sum / double(profile.slots.size()), least, most);
  };
  return fmt::format("slots: {}, {}, {} of the run, traced\n", part("busy", &SlotUse::busy),
                     part("waiting for their team", &SlotUse::waiting), part("idle", &SlotUse::idle));
}

nlohmann::json slotsJson(const Profile &profile) {
  nlohmann::json slots = nlohmann::json::array();
  for (const SlotUse &slot : profile.slots)
    slots.push_back({{"busy_ms", slot.busy * 1e3}, {"waiting_ms", slot.waiting * 1e3}, {"idle_ms", slot.idle * 1e3}});
  return slots;
}

/// The line about the trace; "" without one.
std::string traceText(const ProfileJob &options, const Profile &profile) {
  if (options.trace.empty())
    return "";
  std::string runs = counted(int64_t(profile.traced.runs()), "run");
  if (profile.traced.runs() < options.repetitions)
    runs = fmt::format("the first {} of {}; more would be too many events", runs, options.repetitions);
  if (uint64_t count = profile.traced.leftOut())
    runs += fmt::format("; {} of full tracks are left out (--trace-events)", counted(int64_t(count), "event"));
  return fmt::format("{}: trace of {}\n", options.trace, runs);
}

} // namespace

std::string profileText(const ProfileJob &options, const Profile &profile, const ProfileTable &table,
                        const TableStyle &style) {
  const Prepared &prepared = profile.prepared;
  int threads = profile.threads();
  std::string text = fmt::format("{} ({}{}{}), {}, {}; peak {}\n", printable(options.model.model), prepared.inputText,
                                 prepared.extents.empty() ? "" : "; " + prepared.extents,
                                 prepared.variant.empty() ? "" : ", variant " + prepared.variant,
                                 counted(threads, "thread"), prepared.model->target(), peaksText(profile, threads));
  text += table.str(style);
  text += fmt::format("overhead {:.3f} us a kernel; an empty kernel takes {:.3f} us on one thread",
                      profile.overheadEach() * 1e6, profile.callOne * 1e6);
  if (threads > 1)
    text += fmt::format(", {:.2f} us to fork and join on {}", profile.forkJoin * 1e6, threads);
  if (std::string note = package::paddingNote(prepared.model->options()); !note.empty())
    text += "\n" + note;
  return text + "\n" + slotsText(profile) +
         predictionText(*prepared.model, threads, profile.clock, table.unpredicted()) +
         "outputs: " + profile.verification.text + "\n" + traceText(options, profile);
}

nlohmann::json profileJson(const ProfileJob &options, const Profile &profile, const ProfileTable &table) {
  const Prepared &prepared = profile.prepared;
  int threads = profile.threads();
  nlohmann::json peaks, kept;
  for (auto [type, peak] : profile.peaks) {
    peaks[std::string(name(type))] = peak;
    kept[std::string(name(type))] = keptPeak(type, threads);
  }
  nlohmann::json json = {{"model", options.model.model},
                         {"threads", threads},
                         {"target", prepared.model->target()},
                         {"inputs", prepared.inputText},
                         {"extents", prepared.extents},
                         {"variant", prepared.variant},
                         {"operations_note", package::paddingNote(prepared.model->options())},
                         {"peak_gflops", profile.peaks.at(ElementType::f32)},
                         {"kept_peak_gflops", keptPeak(ElementType::f32, threads)},
                         {"peaks_gflops", peaks},
                         {"kept_peaks_gflops", kept},
                         {"clock_ghz", profile.clock},
                         {"planned_threads", prepared.model->plannedThreads()},
                         {"predicted_for", plannedMachine(*prepared.model)},
                         {"rows", table.rows()},
                         {"overhead_ms", profile.mean.overhead * 1e3},
                         {"overhead_per_kernel_us", profile.overheadEach() * 1e6},
                         {"call_us", profile.callOne * 1e6},
                         {"fork_join_us", profile.forkJoin * 1e6},
                         {"slots", slotsJson(profile)},
                         {"whole_ms", profile.mean.whole * 1e3},
                         {"gflops", table.gflops()},
                         {"gb_s", table.gigabytesPerSecond()},
                         {"roofline_share", table.rooflineShare()},
                         {"verified", profile.verification.verified},
                         {"verification", profile.verification.text},
                         {"mistrusted", profile.mistrust},
                         {"graph", profile.graph}};
  if (!options.trace.empty())
    json["trace"] = {{"runs", profile.traced.runs()}, {"events_left_out", profile.traced.leftOut()}};
  return json;
}

} // namespace lathe::cli
