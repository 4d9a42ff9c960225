// Runs a model. A context belongs to one calling thread; it owns the arena, the runtime's output
// buffers and the worker threads.
//
//   auto model = Model::load("resnet50.lathe");
//   Context context(model, {.threads = 2});
//   context.setInput(0, image);                  // no copy; extents bind the model's symbols
//   context.run();
//   const Tensor &prob = context.output(0).tensor();
#pragma once

#include "runtime/Model.h"
#include "runtime/Tensor.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace lathe::runtime {

class ThreadPool;

/// Error of a run that Context::cancel has ended.
class Cancelled : public Error {
public:
  using Error::Error;
};

struct ContextOptions {
  /// Number of threads that compute, the calling thread included; 0: as many as the process may use processors, or as
  /// the pool has slots behind `firstSlot`.
  int threads = 1;
  /// Pool that several contexts share; null: the context makes one of its own. The context computes on `threads` slots
  /// from `firstSlot` on; the thread that calls `run` takes the place of the first of them. Contexts without common
  /// slots may run at the same time, each called by its own thread. A run waits while another run uses some of its
  /// slots.
  std::shared_ptr<ThreadPool> pool = nullptr;
  int firstSlot = 0;
  bool streams = true; // false: instructions run one after the other, even where the plan has streams
};

/// Slots of a plan: `count` from `first` on; 0: all.
struct PlannedSlots {
  uint32_t first = 0, count = 0;
};

/// Description and cost of one instruction of the plan, for the extents that are bound now. Its strings and spans live
/// as long as the model.
struct InstructionInfo {
  const char *kind = ""; // kind of the instruction: "kernel", "reference", "compute_shape", "if", "loop"
  std::string_view name; // name of the kernel, or operator of the reference
  std::string_view family, shapes, schedule; // only for kernels; "" for other instructions
  std::span<const std::string> nodes;        // source nodes that the instruction computes
  double flops = 0, bytes = 0; // only for kernels; 0 for other instructions, and while extents are unknown
  /// Values of the plan that the instruction writes. An alias counts as the value that owns its bytes. For a kernel:
  /// the non-constant buffers that no earlier instruction wrote.
  std::vector<uint32_t> outputs;
  std::string_view origin; // only for kernels: source of the schedule
  /// Only for kernels: core cycles of one run on Model::plannedThreads() threads, predicted when the package was
  /// compiled. 0: there is no prediction, or none for the extents that are bound now.
  double predictedCycles = 0;
  /// Only for kernels: true if the kernel runs in an image loop, which runs several kernels on one image before the
  /// next image.
  bool imageByImage = false;
  /// Values that the instruction itself reads, including constants. For an If or a Loop: the condition, the number of
  /// iterations and the carried values before the first iteration.
  std::vector<uint32_t> inputs = {};
  /// Only for kernels: bytes of the constants it reads, and work items that it divides over its slots (of one stage, if
  /// it has several). 0: unknown while extents are.
  double constantBytes = 0, workItems = 0;
  PlannedSlots planned = {}; // the slots for which the plan places it
};

/// Where a value of the plan lies in memory, for the extents that are bound now. Numbers that depend on data are -1
/// until the data exists.
struct ValuePlace {
  std::vector<int64_t> dims;     // logical extents
  int64_t bytes = 0, offset = 0; // size in memory; offset in the value that owns the bytes; both in bytes
};

/// Begin and end of one execution of one instruction, in monotonic nanoseconds. For an instruction that a loop runs
/// several times, the difference is the sum over all executions.
struct InstructionTime {
  uint32_t instruction;
  uint64_t begin, end;
};

/// Times of one profiled run. The times of instructions inside loops and branches are also part of the time of the
/// instruction If or Loop.
struct RunProfile {
  uint64_t begin = 0, end = 0; // begin and end of the whole run in nanoseconds
  std::vector<InstructionTime> times;
  /// Time of the run in which no instruction of the entry block ran, in nanoseconds.
  uint64_t overhead = 0;
};

/// An instruction of the plan's entry block with its time in a profiled run. Rows are in the order in which they ended.
struct ProfileRow {
  InstructionInfo info;
  uint32_t instruction = 0;
  uint64_t nanoseconds = 0;
};

/// One execution of an instruction, or of a part of it, in a traced run. Times are in nanoseconds on the clock of
/// InstructionTime.
struct TracedCall {
  enum class Kind {
    instruction,
    body,  // one run of a body of an If or a Loop; `detail`: the body's index in Plan::blocks
    images // an image loop, which runs the kernels from `instruction` to `detail` image by image
  };
  Kind kind = Kind::instruction;
  uint32_t instruction = 0, detail = 0;
  uint32_t iteration = 0; // for a body of a Loop: number of the iteration in which it ran, from 0
  uint64_t begin = 0, end = 0;
  uint32_t firstSlot = 0, slots = 0; // the team that computed it: `slots` slots from `firstSlot` on
};

/// The time that one slot (thread) took for its share of one kernel call, or of one parallel loop of a reference.
struct SlotTime {
  uint32_t instruction = 0;
  uint64_t begin = 0, end = 0;
};

/// A list of events in a trace: the first events, and the number of later events, which are not kept.
template <class Event> struct alignas(64) TraceTrack { // aligned so that no two slots write the same cache line
  std::vector<Event> events;
  uint64_t leftOut = 0; // number of events that came when the track was full

  void add(const Event &event, size_t most) {
    if (events.size() < most)
      events.push_back(event);
    else
      ++leftOut;
  }
};

/// All executions in one traced run. In `calls`, a kernel inside an image loop has the sum of its times over all
/// images, and the kernels of the loop appear one after the other; `shares` has the real times.
struct RunTrace {
  TraceTrack<TracedCall> calls;             // executions in the order in which they ended
  std::vector<TraceTrack<SlotTime>> shares; // shares of kernel calls in the order of time, one track for each slot
};

struct RunOptions {
  bool profile = false;
  bool trace = false; // with `profile`: also record every execution and the share of every slot (Context::trace)
  /// Largest number of events in a track of the trace (40 bytes for a call, 24 bytes for a share of a slot). Later
  /// events are only counted. One event for each instruction of the entry block is kept beyond this limit.
  size_t traceLimit = 1000000;
  int64_t until = -1; // number of the last instruction to run; outputs of later instructions are undefined. -1: run all
  /// Called after each instruction of the run; it may call `Context::readValue` for the outputs of the instruction.
  /// Instructions then run one after the other. Slows the run down.
  std::function<void(uint32_t instruction)> observe = {};
  /// For tests of plans with streams; not 0: instructions that may run at the same time run one after the other, in an
  /// order that follows from this number, and each value is overwritten once nothing uses it any more.
  uint64_t shuffle = 0;
};

struct MemoryUse {
  uint64_t arenaBytes = 0; // planned temporary values and scratch memory
  uint64_t liveBytes = 0;  // largest sum of temporary values alive at once; no arena can be smaller
  /// Largest scratch memory of a kernel call for all slots; part of the arena unless its size depends on data.
  uint64_t scratchBytes = 0;
  uint64_t outputBytes = 0;   // output buffers that the runtime owns
  uint64_t copiedBytes = 0;   // copies of unaligned inputs, and values whose extents depend on data
  uint64_t constantBytes = 0; // constants, mapped and shared by all contexts of the model
  uint64_t stateBytes = 0;    // states kept between runs; states that grow in place count with their full room
};

class Context {
public:
  explicit Context(std::shared_ptr<const Model> model, const ContextOptions &options = {});
  ~Context();
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;

  const Model &model() const;
  int threads() const;

  /// Binds the model's input `index` to `value`. The value is used in place unless it is not aligned to its element
  /// size: shared or borrowed storage must stay valid and unchanged until the run ends. Throws Error: "m.lathe: input
  /// 'data': expected f32 Nx3x224x224, got f32 1x3x299x299".
  void setInput(size_t index, Value value);
  /// Makes the model's output `index` use the memory of `tensor`. Type and extents must equal the output's. An
  /// undefined tensor selects the runtime's own buffer again.
  void setOutput(size_t index, Tensor tensor);

  /// Makes output `output` of each run the input `input` of the next run, without a copy: a state of the context. The
  /// first run starts from the value given to setInput, or from zeros.
  ///
  /// With `max`, the output must be the input followed by more elements along one axis (Plan::growths). Output and
  /// input then share memory for `max` positions along this axis, and a run that needs more throws Error. Without
  /// `max`, input and output swap their memory after each run, or share it if Plan::overwrites lists them. A run that
  /// fails leaves all states unchanged, except elements that it has already overwritten.
  void keepState(size_t input, size_t output, int64_t max = 0);
  /// Makes the next run start all states from their first values again. setInput on the input of a state restarts only
  /// this state, with the value given.
  void resetStates();
  /// Returns the value that the next run reads as input `index`; a copy if the input is a state that grows in place or
  /// is overwritten. All other inputs must be set.
  Value nextInput(size_t index);
  /// Extents of the tensor that is set as input `index`; for a state, its extents after the last run.
  const std::vector<int64_t> &inputDims(size_t index) const;

  void run(const RunOptions &options = {});

  /// Ends the run in progress: at its next instruction, iteration of a loop or image, the run throws Cancelled. If no
  /// run is in progress, or the run is past its last instruction, the next run throws before its first instruction.
  /// The run that throws clears the request, so later runs are not affected. Safe in any thread and in signal
  /// handlers.
  void cancel() noexcept;
  /// Clears a request to cancel (`cancel`) that has not ended a run yet.
  void resetCancel() noexcept;
  /// Sets a function that is asked before a request to cancel ends a run: the run's thread calls `check` with `data`.
  /// If `check` returns 0, the request is cleared and the run goes on. `check` must not use the context. Null:
  /// requests always end runs.
  void setCancelCheck(int (*check)(void *data), void *data);

  /// Binds the inputs, runs the model, and returns copies of the outputs.
  std::vector<Value> run(std::span<const Value> inputs);

  /// Returns output `index` of the last run. It is valid until the next run, or until an input with other extents is
  /// set.
  const Value &output(size_t index) const;
  /// Returns the extents that output `index` has with the inputs set so far. Throws Error if an
  /// input that determines them is missing, or if they depend on data.
  std::vector<int64_t> outputDims(size_t index);

  /// Profile of the last run with RunOptions::profile.
  const RunProfile &profile() const;
  /// Trace of the last run with RunOptions::trace.
  const RunTrace &trace() const;
  /// The profile of the last run as one row per instruction of the entry block. The times of the rows and
  /// `profile().overhead` add up to the whole run, unless instructions ran beside each other.
  std::vector<ProfileRow> profileRows() const;
  /// Number of instructions of the plan in use, and the description of each. Extents must be bound
  /// (by a run or outputDims).
  size_t instructionCount() const;
  InstructionInfo instruction(size_t index) const;
  MemoryUse memory() const;

  /// The plan of the model that is used for the extents bound now. Throws Error if extents are not bound.
  const Plan &plan() const;
  ValuePlace place(uint32_t value) const;
  /// Returns a copy of a value of the plan in row-major order. Valid only while the value's bytes
  /// are: in `observe`, or after a run with `until` for the outputs of the last instruction.
  Value readValue(uint32_t value) const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace lathe::runtime
