#include "jobs/profile/TraceFile.h"

#include "jobs/profile/KernelGraph.h"
#include "runtime/plan/Program.h"
#include "store/Lines.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace lathe::jobs {
namespace {

using nlohmann::json;
using runtime::TracedCall;
using Kind = TracedCall::Kind;

std::string textOf(const json &document) { return document.dump(-1, ' ', false, json::error_handler_t::replace); }

/// Track of the runs and of instructions on all slots; slots, and teams of slots, have further tracks. Perfetto
/// reserves thread 0 for the idle thread.
constexpr int runTrack = 1;
constexpr int trackOf(int slot) { return slot + 2; }

/// Writes the events of runs. Times are microseconds since the first run began, exact to the nanosecond.
class Writer {
public:
  Writer(const std::string &path, const runtime::Context &context, const lab::MachineCeilings &machine, uint64_t start)
      : context(context), machine(machine), start(start), file(path), live(liveBytes()) {
    for (size_t i = 0; i < context.instructionCount(); ++i) {
      infos.push_back(context.instruction(i));
      const runtime::InstructionInfo &info = infos.back();
      names.push_back(textOf(info.name.empty() ? std::string(info.kind) : std::string(info.name)));
    }
  }

  void begin(const json &about) {
    file.line(R"({"displayTimeUnit":"ns","otherData":)" + textOf(about) + R"(,"traceEvents":[)");
    name("process_name", runTrack, "lathe profile " + about.value("model", ""));
    track(runTrack, "runs");
    for (int slot = 0; slot < context.threads(); ++slot)
      track(jobs::trackOf(slot), slot ? fmt::format("slot {}", slot) : "slot 0 (caller)");
  }

  /// The track of what a team computes: of runs if it has all slots, else its own, behind those of slots.
  int trackOf(const TracedCall &call) {
    if (static_cast<int>(call.slots) >= context.threads())
      return runTrack;
    auto [entry, fresh] =
        teams.try_emplace({call.firstSlot, call.slots}, jobs::trackOf(context.threads()) + int(teams.size()));
    if (fresh)
      track(entry->second,
            call.slots == 1 ? fmt::format("team of slot {}", call.firstSlot)
                            : fmt::format("team of slots {} to {}", call.firstSlot, call.firstSlot + call.slots - 1));
    return entry->second;
  }

  void run(size_t number, bool counts, const runtime::RunProfile &profile, const runtime::RunTrace &trace) {
    slice(runTrack, fmt::format("\"run {}\"", number), "run", profile.begin, profile.end,
          {{"run", number}, {"counts", counts}, {"overhead_us", double(profile.overhead) * 1e-3}});
    // The list is sorted by end, so an enclosing event comes after the events inside it.
    const std::vector<TracedCall> &calls = trace.calls.events;
    std::vector<size_t> order(calls.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return calls[a].begin != calls[b].begin ? calls[a].begin < calls[b].begin : a > b;
    });
    for (size_t index : order) {
      const TracedCall &call = calls[index];
      if (call.kind == Kind::instruction) {
        instruction(call);
      } else if (call.kind == Kind::body) {
        slice(trackOf(call), bodyName(call), "body", call.begin, call.end, json::object());
      } else {
        images(call);
      }
    }
    counter("memory", "MB", profile.end, 0);
    leftOut(runTrack, profile.end, trace.calls.leftOut);
    for (size_t slot = 0; slot < trace.shares.size(); ++slot) {
      for (const runtime::SlotTime &share : trace.shares[slot].events)
        slice(jobs::trackOf(int(slot)), names[share.instruction], categoryOf(share.instruction), share.begin, share.end,
              {{"instruction", share.instruction}});
      leftOut(jobs::trackOf(int(slot)), profile.end, trace.shares[slot].leftOut);
    }
  }

  void end() {
    file.line(last);
    file.line("]}");
    file.commit();
  }

private:
  const runtime::Context &context;
  const lab::MachineCeilings &machine;
  uint64_t start;
  store::LineWriter file;
  std::string last; // an event that waits for a comma
  std::vector<runtime::InstructionInfo> infos;
  std::vector<std::string> names; // as JSON
  std::vector<double> live;
  std::map<std::pair<uint32_t, uint32_t>, int> teams; // by first slot and number of slots: track

  void event(std::string text) {
    if (!last.empty())
      file.line(last + ",");
    last = std::move(text);
  }
  std::string microseconds(uint64_t nanoseconds) const {
    return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
  }
  void name(const char *what, int tid, const std::string &text) {
    event(fmt::format(R"({{"name":"{}","ph":"M","pid":1,"tid":{},"args":{}}})", what, tid, textOf({{"name", text}})));
  }
  void track(int tid, const std::string &text) {
    name("thread_name", tid, text);
    event(fmt::format(R"({{"name":"thread_sort_index","ph":"M","pid":1,"tid":{0},"args":{{"sort_index":{0}}}}})", tid));
  }
  void slice(int tid, const std::string &nameText, std::string_view category, uint64_t begin, uint64_t end,
             const json &arguments) {
    event(fmt::format(R"({{"name":{},"cat":{},"ph":"X","ts":{},"dur":{},"pid":1,"tid":{},"args":{}}})", nameText,
                      textOf(std::string(category)), microseconds(begin - start), microseconds(end - begin), tid,
                      textOf(arguments)));
  }
  void counter(const char *what, const char *unit, uint64_t at, double value) {
    event(fmt::format(R"({{"name":"{}","ph":"C","ts":{},"pid":1,"args":{{"{}":{:.6g}}}}})", what,
                      microseconds(at - start), unit, value));
  }

  /// An instant event at the end of a run whose track was full.
  void leftOut(int tid, uint64_t at, uint64_t count) {
    if (count)
      event(fmt::format(
          R"({{"name":"{0} events left out","ph":"i","ts":{1},"pid":1,"tid":{2},"s":"t","args":{{"left_out":{0}}}}})",
          count, microseconds(at - start), tid));
  }

  std::string_view categoryOf(uint32_t instruction) const {
    const runtime::InstructionInfo &info = infos[instruction];
    return info.family.empty() ? std::string_view(info.kind) : info.family;
  }

  /// For each instruction, the bytes of live temporaries, as far as their extents are known.
  std::vector<double> liveBytes() const {
    const runtime::Plan &plan = context.plan();
    std::vector<double> bytes(plan.instructions.size() + 1); // first the changes
    for (uint32_t value = 0; value < plan.values.size(); ++value) {
      const runtime::ValueInfo &info = plan.values[value];
      const runtime::LiveRange &range = plan.live[value];
      if (info.root != value || info.storage != runtime::Storage::temporary || range.first > range.last)
        continue;
      double size = std::max<double>(0, double(context.place(value).bytes));
      bytes[range.first] += size;
      bytes[std::min(size_t(range.last) + 1, bytes.size() - 1)] -= size;
    }
    std::partial_sum(bytes.begin(), bytes.end(), bytes.begin());
    return bytes;
  }

  std::string bodyName(const TracedCall &call) const {
    auto *branch = std::get_if<runtime::If>(&context.plan().instructions[call.instruction]->operation);
    if (branch)
      return branch->thenBlock == call.detail ? "\"then\"" : "\"else\"";
    return fmt::format("\"iteration {}\"", call.iteration);
  }

  /// Counter events for speed and memory.
  void speed(uint64_t begin, uint64_t end, double flops, double bytes) {
    double nanoseconds = double(end - begin);
    if (nanoseconds <= 0)
      return;
    counter("speed", "GFLOPS", begin, flops / nanoseconds);
    counter("speed", "GFLOPS", end, 0);
    counter("traffic", "GB/s", begin, bytes / nanoseconds);
    counter("traffic", "GB/s", end, 0);
  }

  void instruction(const TracedCall &call) {
    const runtime::InstructionInfo &info = infos[call.instruction];
    const int own = trackOf(call);
    json arguments = {{"instruction", call.instruction}, {"kind", info.kind}};
    if (own != runTrack)
      arguments["slots"] = call.slots;
    if (!info.nodes.empty())
      arguments["nodes"] = info.nodes;
    if (std::string_view(info.kind) == "kernel") {
      double seconds = double(call.end - call.begin) * 1e-9;
      lab::Roofline roofline =
          lab::roofline(machine, factorsOf(info), info.flops, info.bytes, seconds, int(call.slots));
      arguments.update({{"family", info.family},
                        {"shapes", info.shapes},
                        {"schedule", info.schedule},
                        {"flops", info.flops},
                        {"bytes", info.bytes},
                        {"bound", roofline.bound}});
      if (seconds > 0)
        arguments["roofline_share"] = roofline.share;
      if (info.imageByImage)
        arguments["image_by_image"] = true;
      else if (own == runTrack)
        speed(call.begin, call.end, info.flops, info.bytes);
    }
    if (context.plan().outermost[call.instruction])
      counter("memory", "MB", call.begin, live[call.instruction] * 1e-6);
    slice(own, names[call.instruction], categoryOf(call.instruction), call.begin, call.end, arguments);
  }

  void images(const TracedCall &call) {
    double flops = 0, bytes = 0;
    for (uint32_t i = call.instruction; i <= call.detail; ++i) {
      flops += infos[i].flops;
      bytes += infos[i].bytes;
    }
    const int own = trackOf(call);
    if (own == runTrack)
      speed(call.begin, call.end, flops, bytes);
    slice(own, "\"image by image\"", "images", call.begin, call.end,
          {{"first", call.instruction}, {"last", call.detail}});
  }
};

} // namespace

void TraceRuns::add(const runtime::Context &context) {
  list.push_back({context.profile(), context.trace()});
  auto count = [this](const auto &track) {
    events += track.events.size();
    omitted += track.leftOut;
  };
  count(context.trace().calls);
  for (const auto &slot : context.trace().shares)
    count(slot);
}

void TraceRuns::write(const std::string &path, const runtime::Context &context, const lab::MachineCeilings &machine,
                      const std::vector<bool> &counts, json about) const {
  about["events_left_out"] = omitted;
  Writer writer(path, context, machine, list.empty() ? 0 : list.front().profile.begin);
  writer.begin(about);
  for (size_t i = 0; i < list.size(); ++i)
    writer.run(i + 1, counts[i], list[i].profile, list[i].trace);
  writer.end();
}

} // namespace lathe::jobs
