// The implementation of Context: binding of extents and memory to a plan (Ports.cpp, Binding.cpp, Scratch.cpp), values
// that are placed while it runs (LateMemory.cpp), execution (Execution.cpp, Loops.cpp), times (Trace.cpp), cancelled
// runs (Streams.cpp), states between runs (States.cpp), image loops: kernel calls that run for one image after the
// other (ImageLoops.cpp), and instructions that run beside each other (Streams.cpp).
#pragma once

#include "runtime/Context.h"
#include "runtime/Loader.h"
#include "runtime/ThreadPool.h"
#include "runtime/plan/ElementRanges.h"
#include "runtime/plan/Planner.h"
#include "runtime/plan/Program.h"

#include <atomic>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

namespace lathe::runtime {

/// A type with extents as text for messages: "f32 1x3x224x224". Extents may be symbolic.
std::string describe(ElementType type, std::span<const Dim> dims);
std::string describe(const Value &value);

/// Bytes of a dense tensor. Throws Error if extents are negative or their product is too large for memory.
int64_t denseBytes(ElementType type, const std::vector<int64_t> &dims);

uint64_t monotonicNanoseconds();

/// Returns a copy of a value that shares no memory with it.
Value cloneValue(const Value &value);
/// Returns a copy of a value that stays valid when the memory of the plan is reused. Tensors inside sequences and
/// optionals have their own memory already, which the copy shares.
Value keptValue(const Value &value);

/// A stream of work in a run: instructions that run one after the other, each on all slots of a team.
struct Stream {
  explicit Stream(const ThreadPool::Team &team) : team(team) {}
  Stream(const Stream &) = delete; // `parallel` refers to it

  const ThreadPool::Team &team;
  ParallelFor parallel;           // splits the loops of references over the team
  uint32_t sharing = 0;           // id of the instruction whose reference uses `parallel`
  const Block *current = nullptr; // the block of the plan that runs
  Mapping lateScratch;            // scratch memory of kernel calls whose extents depend on data
  bool ofCaller = true;           // true while the thread that called Context::run leads the team

  /// How far a stream of a phase is, for the streams beside it.
  struct alignas(64) Progress {
    std::atomic<uint32_t> done{0};     // all instructions of the stream with smaller ids are done
    std::atomic<bool> finished{false}; // true once the stream has ended
    std::exception_ptr error;
    uint32_t failed = UINT32_MAX; // id of the instruction with the error

    /// Before a run, in which nobody else reads it yet.
    void begin() {
      done.store(0, std::memory_order_relaxed);
      finished.store(false, std::memory_order_relaxed);
      error = nullptr;
      failed = UINT32_MAX;
    }
  } progress;
};

/// A phase of the plan with its streams on a pool's slots.
struct BoundPhase {
  BoundPhase(const Phase &phase, ThreadPool &pool, std::span<const ThreadPool::Slots> slots)
      : phase(phase), teams(pool, slots) {}

  const Phase &phase;
  ThreadPool::Teams teams;
  std::vector<std::unique_ptr<Stream>> streams; // by stream of the phase; empty: they run as one, on all slots
};

/// A plan with the extents and memory of a context, made when the inputs' extents are bound. A run changes only what
/// depends on data: late extents, boxed values and their places, and the pointers of values that a loop passes on.
struct BoundPlan {
  /// A value of the plan at run time. Strings, sequences, optionals and values with data-dependent
  /// extents are boxed as Value; all others are plain bytes.
  struct Slot {
    bool boxed = false;
    char *data = nullptr;      // memory of the plain bytes; null for boxed values
    int64_t bytes = 0;         // size of the plain bytes in memory
    std::vector<int64_t> dims; // logical extents of the plain bytes
    Value value;               // for boxed values that are roots (own their bytes): the value; empty until written
    Tensor pages;              // for boxed tensors that kernels write: their memory
    bool written = false;      // for boxed and late values that are roots: true once written
    bool late = false;         // for plain bytes: their memory is chosen during the run (LateGroup)
  };
  struct PreparedKernel {
    LatheKernel code = nullptr;
    std::vector<void *> buffers;
    std::vector<int64_t> dims;
    int64_t units = 0, stages = 1, first = 0;
    char *scratch = nullptr; // scratch memory of slot 0; null: the kernel needs none
    size_t scratchStride = 0;
    std::vector<ElementCheck> checks; // checks in the order of CallKernel::elementRanges
  };
  /// An image loop: consecutive kernel calls of the entry block that run image by image. Each slot takes one image
  /// through all calls before it takes the next image, so that activations between the calls stay in the caches. Values
  /// that are used only inside the loop exist once per replica; each slot has one replica, for one image at a time.
  struct ImageLoop {
    struct Step {
      const Instruction *instruction;
      // by buffer: bytes of one image if the value lives only inside the loop, else 0
      std::vector<int64_t> imageBytes;
    };
    uint32_t first = 0, last = 0; // ids of the first and the last instruction of the loop
    int64_t images = 1;
    std::vector<Step> steps;
    std::vector<uint32_t> inside;  // values that live only between the instructions `first` and `last`
    std::vector<uint64_t> offsets; // offset in a replica of each value in `inside`
    uint64_t replicaBytes = 0;
    size_t request = 0;                        // index of the replicas' memory among the requests to the arena
    std::vector<std::vector<void *>> pointers; // by slot: addresses of the buffers for the kernel call in progress
  };
  struct PreparedReference {
    std::vector<Value> inputs;
    std::vector<const Value *> pointers;
    std::vector<Value> outputs;
  };

  /// How a loop of the plan hands its carried values to the next iteration.
  struct PreparedLoop {
    /// A carried value before and after an iteration: `in` and `out` have separate buffers, which are swapped after
    /// each iteration.
    struct Swap {
      uint32_t in, out;
    };
    /// A pointer to update after a swap: a buffer of a kernel call, or an operand or result of a reference call.
    struct KernelUse {
      uint32_t instruction, buffer, value;
    };
    struct ReferenceUse {
      uint32_t instruction, index, value;
      bool input;
    };
    std::vector<Swap> swaps;
    /// Positions of the carried values that an iteration changes and that are copied instead of swapped.
    std::vector<size_t> copies;
    std::vector<KernelUse> kernels;
    std::vector<ReferenceUse> references;
    /// Values whose memory lies inside one of `swaps`: each iteration gives them another address.
    std::vector<uint32_t> aliases;
  };

  /// The memory that a late group (values whose extents become known during the run) got when it was last placed.
  struct LateState {
    std::vector<int64_t> key;      // values that the group's symbols had at that time; empty: never placed
    char *base = nullptr;          // start of the group's arena at that time
    std::vector<uint64_t> offsets; // offset in the arena, for each value of the group
    uint64_t bytes = 0;
  };

  const Plan *plan = nullptr;
  std::unordered_map<std::string, int64_t> symbols;
  std::vector<int64_t> extents; // values of Plan::extents, by index; valid only where `extentKnown` is true
  std::vector<bool> extentKnown;
  std::vector<bool> lateKnown;                      // true for a late extent that has a value for the current symbols
  std::vector<Slot> slots;                          // the values of the plan at run time, by index
  std::vector<PreparedKernel> kernels;              // prepared kernel calls, by index of the instruction
  std::vector<PreparedReference> references;        // prepared reference calls, by index of the instruction
  std::unordered_map<uint32_t, PreparedLoop> loops; // prepared loops, by index of the instruction
  Mapping arena;
  std::vector<LateState> late;     // state of each late group
  std::vector<Mapping> lateArenas; // arenas in which late groups are placed
  uint64_t arenaBytes = 0, liveBytes = 0, scratchBytes = 0;
  std::vector<ImageLoop> imageLoops;
  std::vector<int32_t> imageLoopOf; // by id of the instruction: index in `imageLoops`; -1: none
  // true: there are no image loops and no streams, because an observer reads every value
  bool wholeBatches = false;
  std::vector<std::unique_ptr<BoundPhase>> phases; // empty: all instructions run one after the other on all slots
};

/// The state of one run of a context, with its profile and trace.
struct RunState {
  const RunOptions *options = nullptr; // options of the run in progress; null: no run is in progress
  bool stopped = false;                // true once the run has reached RunOptions::until
  RunProfile times;
  RunTrace trace;
  std::vector<size_t> timeOf; // by id of the instruction: 1 + its index in `times`; 0: it has no time yet
  /// Largest number of events in a track of the trace, and the larger limit for events of the entry block.
  size_t traceMost = 0, outermostMost = 0;
  std::vector<bool> spoiled; // by value, in a shuffled run: true once it has been overwritten
};

struct Context::State : BoundPlan {
  State(std::shared_ptr<const Model> model, const ContextOptions &options);

  // ---- Binding.cpp
  void setInput(size_t index, Value value);
  void setOutput(size_t index, Tensor tensor);
  /// If extents of inputs have changed since the last call: chooses the plan, evaluates its extents and plans its
  /// memory.
  void bindExtents();
  /// Gives every value with known extents the address of its memory.
  void bindPointers();
  int64_t evaluate(Extent extent) const;
  /// True if the kernel call is the first instruction that writes `value`, which is one of its buffers.
  bool writes(const Instruction &instruction, uint32_t value) const;
  std::vector<int64_t> evaluate(const std::vector<Extent> &extents) const;
  MemoryUse memory() const;

  // ---- States.cpp
  void keepState(size_t input, size_t output, int64_t max);
  void resetStates();
  /// Makes the value that output() returns for an output that grows in place: a dense copy.
  void copyGrown(size_t output);
  Value nextInput(size_t index);

  // ---- Execution.cpp
  void run(const RunOptions &options);
  Value read(uint32_t value) const;

  /// A state of the context: an output that becomes an input of the next run.
  struct KeptState {
    size_t input, output;
    /// For states that grow in place: largest number of positions along the axis; 0: input and output swap memory.
    int64_t max;
    Value initial;      // first value, from setInput; undefined: zeros
    bool kept = false;  // true once a run has written the state since it was started
    bool owned = false; // true if the memory of the input belongs to the context
    Mapping store;      // memory of a state that grows in place
  };

  std::shared_ptr<const Model> model;
  std::string file; // name of the package file, with which every message begins
  std::shared_ptr<ThreadPool> pool;
  const bool mayStream;
  ThreadPool::Slots poolSlots; // the slots of the pool on which the context computes
  ThreadPool::Team allSlots;
  Stream everything{allSlots}; // the stream that runs instructions on all slots
  RunState active;

  std::vector<Value> inputs; // by input: the value that the caller set, or an aligned copy
  std::vector<bool> inputSet;
  std::vector<Tensor> inputCopies; // by input: memory for copies of unaligned inputs
  std::vector<Tensor> callerOutputs, ownedOutputs;
  std::vector<Value> results; // the values that output() returns
  std::vector<KeptState> states;
  bool extentsChanged = true, pointersChanged = true, ran = false;

  // ---- Streams.cpp
  std::atomic<bool> cancelAsked{false}; // set by cancel(), in any thread or in a signal handler
  static_assert(std::atomic<bool>::is_always_lock_free);
  int (*cancelCheck)(void *) = nullptr;
  void *cancelData = nullptr;
  /// True if cancel() asks the run to end, or if another stream has ended it.
  bool isInterrupted() const {
    return cancelAsked.load(std::memory_order_relaxed) || leaving.load(std::memory_order_relaxed);
  }
  /// Throws Cancelled if cancel() asks the run to end, and Leave if another stream has ended it. Only for the thread
  /// that leads the stream, outside of KernelFloatMode.
  void poll(const Stream &stream) {
    if (isInterrupted()) [[unlikely]]
      meetInterrupt(stream);
  }
  void meetInterrupt(const Stream &stream);
  struct PhaseRun;
  struct Leave {};                  // thrown where a stream ends because another one has failed
  std::atomic<bool> leaving{false}; // true from the failure of a stream to the end of its phase
  std::atomic<uint32_t> events{0};  // raised when something happens that sleeping streams wait for
  std::atomic<uint32_t> sleepers{0};
  // Guards what streams bind while they run: symbols, late extents, rules over them, late groups.
  mutable std::recursive_mutex lateLock;
  std::mutex timesLock; // guards RunState::times, timeOf and trace.calls

  /// Wakes streams that wait, if there are any. Safe in signal handlers.
  void notify();

  // ---- Trace.cpp
  /// Splits work over a team by Team::runStages; a traced run also records begin and end of each slot's share.
  void split(Stream &stream, uint32_t instruction, int64_t stages, int64_t count, ThreadPool::Body body, void *context);

private:
  // ---- Streams.cpp
  bool hasStreams() const { return !phases.empty(); }
  /// Holds `lateLock` if several streams may run.
  std::unique_lock<std::recursive_mutex> guardLate() const;
  void bindPhases();
  void setParallel(Stream &stream);
  /// Number in the context of the first slot of a team.
  uint32_t firstSlot(const Stream &stream) const {
    return static_cast<uint32_t>(stream.team.first() - poolSlots.first);
  }
  /// Slots of the team that computes an instruction.
  int slotsOf(uint32_t instruction) const;
  /// The life of bytes for requests to the arena, as Plan::streamLives; null without streams.
  const StreamLife *streamLife(uint32_t value) const { return hasStreams() ? &plan->streamLives[value] : nullptr; }
  void executePhases();
  void runPhase(BoundPhase &bound);
  void shufflePhase(BoundPhase &bound, std::mt19937_64 &random);
  void spoilDead(uint32_t phase, const std::vector<uint32_t> &done);
  template <class Done> void wait(const Stream &stream, bool spins, const Done &done);

  static std::string inputWith(const Plan &candidate, const std::string &symbol);
  std::string matchPlan(const Plan &candidate, std::unordered_map<std::string, int64_t> &bound) const;
  void choosePlan();
  void bindChangedExtents();
  void checkRules(bool late) const;
  void checkRule(const Rule &rule) const;
  void checkBlockRules(const Block &block) const;
  void layOut();
  uint64_t portBytes() const;
  std::string inputsText() const;
  void checkSizes(const ValueInfo &info, const Slot &slot) const;
  void prepareKernel(Stream &stream, const Instruction &instruction, const CallKernel &call);
  Tensor &outputTensor(size_t index, const std::vector<int64_t> &dims);

  // ---- States.cpp
  void bindInput(size_t index, Value value); // defined in Binding.cpp
  KeptState *stateOfInput(size_t input);
  KeptState *stateOfOutput(size_t output);
  const KeptState *grownState(size_t output) const { return const_cast<State *>(this)->grownState(output); }
  KeptState *grownState(size_t output);
  const Growth *growthOf(const Plan &candidate, const KeptState &kept) const;
  bool isOverwritten(const KeptState &kept) const;
  Value initialValue(const KeptState &kept) const;
  void startStates();
  void bindGrowths();
  void checkGrowths() const;
  char *growingBuffer(size_t output, const Slot &slot);
  void advanceStates();
  Tensor denseCopy(const KeptState &kept) const;

  // ---- Scratch.cpp
  /// Sizes of a kernel call's scratch memory in whole pages. Each slot has its own scratch, except in calls with
  /// stages, whose slots share one.
  struct SlotScratch {
    // stride: distance between the scratch of two slots; bytes: scratch of all slots together
    size_t stride, bytes;
  };
  SlotScratch scratchOf(const CallKernel &call, int slots) const;
  /// Adds requests for arena memory to `requests`: one for each kernel call with scratch of known size. The scratch
  /// lives during the call, or during the image loop that contains the call; `lives` keeps what the requests point to.
  /// Returns the instruction of each call with the index of its request.
  std::vector<std::pair<uint32_t, size_t>> requestScratch(std::vector<ArenaRequest> &requests,
                                                          std::deque<StreamLife> &lives);
  void placeLateScratch(Stream &stream, PreparedKernel &prepared, const CallKernel &call);

  // ---- LateMemory.cpp
  void layOutLate();
  /// Evaluates the extents that become known after `instruction`, and chooses the memory of the values that have these
  /// extents.
  void settle(uint32_t instruction);
  void placeGroup(const LateGroup &group, LateState &state);
  void growLateArena(uint32_t arena, uint64_t bytes);
  std::unordered_map<std::string, int64_t> lateBounds() const;
  std::optional<uint64_t> bytesAtBounds(const LateGroup &group,
                                        const std::unordered_map<std::string, int64_t> &bounds) const;
  void bindSymbol(const std::string &symbol, int64_t value);
  void forget(const std::vector<std::string> &list);

  // ---- ImageLoops.cpp
  void findImageLoops();
  void findImageLoops(std::span<const Instruction *const> instructions);
  void addImageLoops(std::span<const Instruction *const> run, int64_t images);
  bool isInside(uint32_t root, std::span<const Instruction *const> run) const;
  ImageLoop makeImageLoop(std::span<const Instruction *const> run) const;
  void requestImages(std::vector<ArenaRequest> &requests, std::deque<StreamLife> &lives);
  void run(Stream &stream, ImageLoop &loop);
  struct ImageJob;

  void execute(Stream &stream, const Block &block);
  void step(Stream &stream, const Instruction &instruction);
  void execute(Stream &stream, const Instruction &instruction);
  void perform(Stream &stream, const Instruction &instruction);
  void call(Stream &stream, const Instruction &instruction, const CallKernel &call);
  void declareAccess(const Stream &stream, const Instruction &instruction, const CallKernel &call) const;
  void checkElements(const Stream &stream, const CallKernel &call, const PreparedKernel &prepared);
  void call(Stream &stream, const Instruction &instruction, const CallReference &call);
  void call(Stream &stream, const ComputeShape &shape);
  void finishOutputs();

  // ---- Trace.cpp
  void startTrace();
  size_t mostEvents(uint32_t instruction, size_t kept) const;
  void addTime(const Stream &stream, uint32_t instruction, uint64_t begin, uint64_t end);
  void addTraced(const Stream &stream, TracedCall call, size_t most);
  uint64_t timeOutside() const;
  void executeBody(Stream &stream, uint32_t instruction, uint32_t block, int64_t iteration = 0);

  // ---- Loops.cpp
  class Scanned;
  std::vector<int64_t> firstExtents(uint32_t value) const;
  void prepareLoop(const Instruction &instruction, const Loop &loop);
  bool passesOn(const Instruction &instruction, const Loop &loop, size_t carried) const;
  void call(Stream &stream, const Instruction &instruction, const Loop &loop);
  void nextIteration(PreparedLoop &prepared, const Loop &loop);
  void swap(const PreparedLoop &prepared);

  void *lateBuffer(uint32_t value);
  void bindSymbols(const ValueInfo &info, const std::vector<int64_t> &dims);
  Value view(uint32_t value) const;
  Value unwritten(uint32_t value) const;
  void write(uint32_t value, const Value &from);
  int64_t readScalar(uint32_t value) const;
  void writeScalar(uint32_t value, int64_t number);
};

} // namespace lathe::runtime
