// The inside of a Context: extents and memory bound to a plan (Binding.cpp, Scratch.cpp), the loop that runs it
// (Execution.cpp), and runs of kernels that a batch passes image by image (ImageLoops.cpp).
#pragma once

#include "runtime/Context.h"
#include "runtime/Loader.h"
#include "runtime/ThreadPool.h"
#include "runtime/plan/Planner.h"
#include "runtime/plan/Program.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace lathe::runtime {

/// "f32 1x3x224x224" for messages; extents may be symbolic.
std::string describe(ElementType type, std::span<const Dim> dims);
std::string describe(const Value &value);

uint64_t monotonicNanoseconds();

struct Context::State {
  State(std::shared_ptr<const Model> model, int threads);

  // ---- Binding.cpp
  void setInput(size_t index, Value value);
  void setOutput(size_t index, Tensor tensor);
  /// Chooses the plan, evaluates extents and plans memory where the inputs' extents changed.
  void bindExtents();
  /// Buffers of everything whose extents are known.
  void bindPointers();
  int64_t evaluate(Extent extent) const;
  /// True when a kernel call is what puts `value`, one of its buffers, there: nothing before has touched those bytes.
  bool writes(const Instruction &instruction, uint32_t value) const;
  std::vector<int64_t> evaluate(const std::vector<Extent> &extents) const;
  MemoryUse memory() const;

  // ---- Execution.cpp
  void run(const RunOptions &options);
  Value read(uint32_t value) const;

  /// A plan's value at run time. Boxed ones (strings, sequences, optionals, late extents) are Values; all others plain
  /// bytes.
  struct Slot {
    bool boxed = false;
    char *data = nullptr;      // not boxed
    int64_t bytes = 0;         // not boxed: physical
    std::vector<int64_t> dims; // not boxed: logical
    Value value;               // boxed, roots: empty until written
    Tensor pages;              // boxed tensors that kernels write: physical bytes
    bool written = false;      // boxed, roots
  };
  struct PreparedKernel {
    LatheKernel code = nullptr;
    std::vector<void *> buffers;
    std::vector<int64_t> dims;
    int64_t units = 0, stages = 1;
    char *scratch = nullptr; // of the first slot; null where the kernel needs none
    size_t scratchStride = 0;
  };
  /// Consecutive kernel calls of the entry block that a batch passes image by image, so that what they hand on stays in
  /// the caches. Values that live inside only are there once a replica: one image of each slot at a time.
  struct ImageLoop {
    struct Step {
      const Instruction *instruction;
      std::vector<int64_t> imageBytes; // by buffer: of one image where the value lives inside, otherwise 0
    };
    uint32_t first = 0, last = 0; // instructions
    int64_t images = 1;
    std::vector<Step> steps;
    std::vector<uint32_t> inside;  // values
    std::vector<uint64_t> offsets; // of them in a replica
    uint64_t replicaBytes = 0;
    size_t request = 0;                        // of the arena
    std::vector<std::vector<void *>> pointers; // by slot: buffers of the call being made
  };
  struct PreparedReference {
    std::vector<Value> inputs;
    std::vector<const Value *> pointers;
    std::vector<Value> outputs;
  };

  std::shared_ptr<const Model> model;
  std::string file; // begins every message
  ThreadPool pool;
  ParallelFor parallel; // for references

  std::vector<Value> inputs; // as used: the caller's or an aligned copy
  std::vector<bool> inputSet;
  std::vector<Tensor> inputCopies; // of those that were not aligned
  std::vector<Tensor> callerOutputs, ownedOutputs;
  std::vector<Value> results; // what output() returns
  bool extentsChanged = true, pointersChanged = true, ran = false;

  const Plan *plan = nullptr;
  std::unordered_map<std::string, int64_t> symbols;
  std::vector<int64_t> extents; // by Plan::extents, where known
  std::vector<bool> extentKnown;
  std::vector<Slot> slots;                   // by value
  std::vector<PreparedKernel> kernels;       // by instruction
  std::vector<PreparedReference> references; // by instruction
  Mapping arena;
  Mapping lateScratch; // of calls whose extents are known only when it is their turn
  uint64_t arenaBytes = 0, liveBytes = 0, scratchBytes = 0;
  RunProfile times;
  std::vector<ImageLoop> imageLoops; // in order
  bool wholeBatches = false;         // none, because every value is to be seen after every instruction

private:
  const RunOptions *options = nullptr;
  bool stopped = false;

  std::string matchPlan(const Plan &candidate, std::unordered_map<std::string, int64_t> &bound) const;
  void choosePlan();
  void layOut();
  void checkSizes(const ValueInfo &info, const Slot &slot) const;
  void prepareKernel(const Instruction &instruction, const CallKernel &call);
  Tensor &outputTensor(size_t index, const std::vector<int64_t> &dims);

  // ---- Scratch.cpp
  /// Whole pages: slots share none, but for a call in stages, whose slots have one scratch together.
  struct SlotScratch {
    size_t stride, bytes; // from slot to slot; of all slots
  };
  SlotScratch scratchOf(const CallKernel &call) const;
  /// Scratch of a call whose extents are known is a temporary that lives as long as the call, or as the loop over
  /// images the call is in. Adds the requests; gives each such instruction with its request's index.
  std::vector<std::pair<uint32_t, size_t>> requestScratch(std::vector<ArenaRequest> &requests);
  void placeLateScratch(PreparedKernel &prepared, const CallKernel &call);

  // ---- ImageLoops.cpp
  void findImageLoops();
  ImageLoop imageLoopOf(std::span<const Instruction *const> run) const;
  void requestImages(std::vector<ArenaRequest> &requests);
  void run(ImageLoop &loop);
  struct ImageJob;

  void execute(const Block &block);
  void execute(const Instruction &instruction);
  void call(const Instruction &instruction, const CallKernel &call);
  void call(const Instruction &instruction, const CallReference &call);
  void call(const ComputeShape &shape);
  void call(const Loop &loop);
  void finishOutputs();
  void *lateBuffer(uint32_t value);
  void bindSymbols(const ValueInfo &info, const std::vector<int64_t> &dims);
  Value view(uint32_t value) const;
  void write(uint32_t value, const Value &from);
  int64_t readScalar(uint32_t value) const;
  void writeScalar(uint32_t value, int64_t number);
};

} // namespace lathe::runtime
