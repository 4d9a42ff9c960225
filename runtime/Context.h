// Runs a model: one context per calling thread. It owns the arena, the runtime's own outputs and the worker threads.
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

namespace lathe::runtime {

struct ContextOptions {
  int threads = 1; // slots, the caller included; 0: as many as this process may run on
};

/// What one instruction of the plan is, with its costs at the extents bound now. Strings and spans live as long as the
/// model.
struct InstructionInfo {
  const char *kind = "";                     // "kernel", "reference", "compute_shape", "release", "if", "loop"
  std::string_view name;                     // of the kernel; operator of a reference
  std::string_view family, shapes, schedule; // kernels
  std::span<const std::string> nodes;        // source nodes
  double flops = 0, bytes = 0;               // kernels; 0 while extents are unknown
  std::vector<uint32_t>
      outputs; // values it writes, aliases resolved (kernels: every non-constant buffer it is the first to touch)
};

/// Monotonic nanoseconds around one execution of one instruction.
struct InstructionTime {
  uint32_t instruction;
  uint64_t begin, end;
};

/// One profiled run. Rows of instructions inside loops and branches lie inside the row of the If or Loop.
struct RunProfile {
  uint64_t begin = 0, end = 0; // of the whole run
  std::vector<InstructionTime> times;
  /// What the run took beyond its instructions of the entry block: the overhead row.
  uint64_t overhead = 0;
};

/// An instruction of the entry block with the time it took; in order of execution.
struct ProfileRow {
  InstructionInfo info;
  uint32_t instruction = 0;
  uint64_t nanoseconds = 0;
};

struct RunOptions {
  bool profile = false;
  int64_t until = -1; // stop after the instruction of this number; outputs computed later are undefined
  /// Called after each instruction; `Context::readValue` of its outputs is valid inside. Slows the run down.
  std::function<void(uint32_t instruction)> observe = {};
};

struct MemoryUse {
  uint64_t arenaBytes = 0;    // planned temporaries and scratch
  uint64_t liveBytes = 0;     // largest sum of temporaries alive at once: what no planner can go below
  uint64_t scratchBytes = 0;  // the largest of a call, all slots; in the arena unless its size follows from data
  uint64_t outputBytes = 0;   // owned by the runtime
  uint64_t copiedBytes = 0;   // inputs that had to be aligned, values whose extents were known late
  uint64_t constantBytes = 0; // mapped, shared by all contexts of the model
};

class Context {
public:
  explicit Context(std::shared_ptr<const Model> model, const ContextOptions &options = {});
  ~Context();
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;

  const Model &model() const;
  int threads() const;

  /// The value is used in place (tensors: shared or borrowed storage must stay valid and unchanged until the run is
  /// over) unless it is not aligned to its element size. Throws Error: "m.lathe: input 'data': expected f32
  /// Nx3x224x224, got f32 1x3x299x299".
  void setInput(size_t index, Value value);
  /// The run writes its result there: type and extents must be the output's. An undefined tensor returns to the
  /// runtime's own buffer.
  void setOutput(size_t index, Tensor tensor);

  void run(const RunOptions &options = {});
  /// Binds, runs and returns copies of the outputs.
  std::vector<Value> run(std::span<const Value> inputs);

  /// Result of the last run; valid until the next, or until inputs of other extents are set.
  const Value &output(size_t index) const;
  /// Extents output `index` will have with the inputs set so far, so that the caller can allocate it. Throws Error
  /// while an input that decides is missing or when they depend on data.
  std::vector<int64_t> outputDims(size_t index);

  /// Of the last run with `profile`.
  const RunProfile &profile() const;
  /// The same as rows: instructions of the entry block. With `profile().overhead` they add up to the whole.
  std::vector<ProfileRow> profileRows() const;
  /// Number of instructions of the plan in use, and each one's description. Extents must be bound (a run, or
  /// outputDims).
  size_t instructionCount() const;
  InstructionInfo instruction(size_t index) const;
  MemoryUse memory() const;

  /// The plan in use, once extents are bound.
  const Plan &plan() const;
  /// A copy of a plan's value in row-major order, blocks undone. Only valid while its bytes are: in `observe`, or after
  /// a run with `until` for the last instruction's outputs.
  Value readValue(uint32_t value) const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace lathe::runtime
