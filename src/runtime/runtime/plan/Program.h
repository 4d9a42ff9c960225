// The decoded plan of a package (format: package/plan.fbs), checked once and immutable.
#pragma once

#include "runtime/References.h"
#include "runtime/plan/ImageCost.h"
#include "runtime/plan/Planner.h"
#include "support/Dim.h"
#include "support/ElementType.h"
#include "support/ExtentRule.h"
#include "support/ValueKind.h"

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace lathe::runtime {

/// An extent of the plan, as an index into Plan::extents. Extents with equal texts have one index, so each text is
/// parsed and evaluated once.
using Extent = uint32_t;

enum class Storage : uint8_t { input, output, constant, temporary, alias, dynamic };

struct ValueInfo {
  std::string name;
  ValueKind kind = ValueKind::tensor;
  ElementType type = ElementType::invalid;
  std::vector<Extent> dims;
  int blockAxis = -1; // axis whose elements are blocked; -1: the value is row-major
  int64_t block = 0;
  Storage storage = Storage::temporary;
  uint64_t offset = 0;      // only for constants: offset in the constants section
  Extent bytes = 0;         // size of the value in memory
  uint32_t root = 0;        // the value that owns the bytes: the value itself, unless it is an alias
  Extent rootOffset = 0;    // offset in the value `root`, in bytes
  bool known = true;        // true if the extents depend only on the extents of the inputs
  std::string quantization; // only for inputs and outputs: text of a Quantization; "": none
};

struct KernelInfo {
  std::string name, family;
  std::vector<std::string> nodes;
  std::string shapes, schedule;
  Extent flops = 0, bytes = 0;
  std::string origin;         // source of the kernel's schedule
  double predictedCycles = 0; // predicted core cycles of one run, with symbols at 1; 0: not predicted
};

/// A condition on the elements of a buffer: element i must be from least[i % n] to most[i % n].
struct ElementRange {
  uint32_t buffer = 0; // index into CallKernel::buffers
  std::vector<Extent> least, most;
  std::string operand; // name of the operand for messages
};

struct CallKernel {
  uint32_t kernel = 0;
  std::vector<uint32_t> buffers;
  std::vector<Extent> dims;
  Extent units = 0, scratchBytes = 0;
  Extent images = 0; // number of equal ranges of work items, each of which touches one image; 1: unknown
  /// Number of equal ranges of work items that run one after the other; 1: all work items are independent.
  Extent stages = 0;
  std::vector<ElementRange> elementRanges;
  /// Number of the first work item to run: items before it copy an input that is in place already (Growth).
  Extent firstUnit = 0;
  /// Measured seconds for all images in one call, and for one image after the other, on plannedThreads; 0: not
  /// measured.
  double callSeconds = 0, imagesSeconds = 0;
};
struct CallReference {
  std::string op;
  std::vector<int32_t> inputs;
  std::vector<uint32_t> outputs;
  std::vector<std::string> nodes;
  std::unique_ptr<ReferenceOperator> reference;
};
struct ComputeShape {
  uint32_t from = 0;
  std::vector<std::string> symbols;
};
struct If {
  uint32_t condition = 0, thenBlock = 0, elseBlock = 0;
};
struct Loop {
  int32_t tripCount = -1, condition = -1;
  uint32_t body = 0;
  std::vector<uint32_t> bodyInputs, bodyOutputs, initial, results;
};

struct Instruction {
  uint32_t id = 0;   // number of the instruction in depth-first order from the entry block
  uint32_t last = 0; // highest id of an instruction inside this one; its own id if it contains no blocks
  // true if all values that it touches have extents that depend only on the extents of the inputs
  bool known = true;
  std::variant<CallKernel, CallReference, ComputeShape, If, Loop> operation;
  int32_t place = -1;          // index into Plan::places; -1: all slots
  std::vector<uint32_t> waits; // ids of the instructions of other places that are done before this one begins
};

/// Slots of the host's pool.
struct PlaceSlots {
  uint32_t first = 0, slots = 0;
  bool operator==(const PlaceSlots &) const = default;
};

/// Consecutive instructions of the entry block that run in streams beside each other. A phase begins when the previous
/// phase is done.
struct Phase {
  size_t begin = 0, end = 0;     // its instructions are those of the entry block from position `begin` to before `end`
  std::vector<PlaceSlots> teams; // by stream: its slots, of Program::threads slots; none: one stream on all slots
  std::vector<std::vector<const Instruction *>> streams; // instructions that run one after the other
};

/// When an instruction runs in a plan with phases.
struct Moment {
  uint32_t phase = 0, stream = 0;
  uint32_t entry = 0; // id of the instruction of the entry block that it is or that contains it
};
/// A relation between two extents that must hold in a run; checked when both extents are known.
struct Rule {
  Relation relation = Relation::equal;
  Extent left = 0, right = 0;
  std::string node;     // node of the model that needs the relation
  bool known = true;    // true if both extents depend only on the extents of the inputs
  bool grouped = false; // true if the rule is checked when the extents of a late group change
};

struct Block {
  std::vector<Instruction> instructions;
  std::vector<Rule> rules; // rules of a body: checked where the body runs, as soon as their symbols are bound
  std::vector<std::string> lateSymbols; // symbols that the instructions of a body bind
};

/// An output that grows in place: it equals an input followed by more elements along `axis`. The runtime binds two
/// symbols: the output's room along `axis`, and 1 if the input already lies at the front of the output's memory, else
/// 0.
struct Growth {
  uint32_t input = 0, output = 0; // indices into Plan::inputs and outputs
  uint32_t axis = 0;
  std::string capacity, kept;
};

/// An output that may be written over an input. Only the kernel that makes the output reads this input.
struct Overwrite {
  uint32_t input = 0, output = 0; // indices into Plan::inputs and outputs
};

struct Range {
  std::string symbol;
  int64_t min = 1, max = 0;
};

/// Lifetime of the bytes of a value: first and last instruction, both included. `first > last`: never alive.
struct LiveRange {
  uint32_t first = UINT32_MAX, last = 0;
};

/// A group of extents that become known together while the plan runs, and the values that get their memory then.
struct LateGroup {
  uint32_t after = 0;               // id of the instruction after which the extents are known
  uint32_t last = 0;                // id of the last instruction that uses one of the values
  std::vector<std::string> symbols; // symbols in the extents, without the symbols of the inputs
  std::vector<Extent> extents;
  std::vector<uint32_t> values; // temporaries and outputs with these extents
  std::vector<uint32_t> rules;  // indices of the rules about these extents
  uint32_t arena = 0;           // number of the arena; groups that are never in use at the same time share an arena
};

struct Plan {
  std::vector<Dim> extents;
  std::vector<ValueInfo> values;
  std::vector<uint32_t> inputs, outputs;
  std::vector<KernelInfo> kernels;
  uint32_t firstKernel = 0; // number of the plan's first kernel among the kernels of the package
  std::vector<Block> blocks;
  std::vector<Range> ranges;
  std::vector<Growth> growths;
  std::vector<Overwrite> overwrites;
  ImageCosts imageCosts;        // costs by which the runtime decides which calls run image by image
  uint32_t measuredChoices = 0; // number of operators for which measured times chose layouts or kernels
  std::vector<Rule> rules;
  std::vector<std::string> lateSymbols; // symbols of rules that become known only when a reference returns
  // lifetime of the bytes of each value in the order of ids; only for values that own bytes
  std::vector<LiveRange> live;
  // by value, aliases counted separately: id of the first instruction that uses the value
  std::vector<uint32_t> firstUse;
  std::vector<const Instruction *> instructions; // by id of the instruction
  std::vector<bool> outermost;                   // by id of the instruction: true for instructions of the entry block
  std::unordered_map<std::string, uint32_t> byName; // index of a value by its name
  bool usesReferences = false;
  std::vector<PlaceSlots> places;
  std::vector<Phase> phases;   // none: all instructions run one after the other on all slots
  std::vector<Moment> moments; // by id of the instruction; empty without phases
  // By id of an instruction of the entry block, then by stream of its phase: all instructions of the stream with
  // smaller ids are done before it begins. May be shorter than the list of streams: of the others, nothing is known to
  // be done.
  std::vector<std::vector<uint32_t>> before;
  std::vector<StreamLife> streamLives; // by value that owns bytes, as `live`; empty without phases
  uint32_t leastStreamSlots = 1;       // with fewer slots, instructions run one after the other
  uint32_t mostStreamSlots = 0;        // the same with more slots; 0: with none

  /// True if instruction `first` is done before instruction `second` begins, by the order that the plan guarantees.
  bool precedes(uint32_t first, uint32_t second) const;

  std::vector<LateGroup> lateGroups;
  // by id of an instruction: the late group whose extents are known after it; -1: none
  std::vector<int> lateGroupAfter;
  uint32_t lateArenas = 0;
  /// By symbol: the extents of late groups that depend on the symbol.
  std::unordered_map<std::string, std::vector<Extent>> lateExtents;
};

struct Program {
  std::string producer, model, options, machine;
  std::vector<Plan> plans;
  uint32_t kernelCount = 0;
  int threads = 0; // number of threads for which schedules were chosen; 0: unknown
};

/// Returns the name of the symbol if `dim` is nothing but a symbol, else "".
std::string loneSymbol(const Dim &dim);

/// Decodes and checks the plan section of a package. `constantBytes` bounds the offsets of constants. Throws Error
/// that begins with `file`. Reference operators are looked up here, so a package that needs missing references fails
/// when it is loaded.
Program decodeProgram(std::span<const char> section, uint64_t constantBytes, const std::string &file);

} // namespace lathe::runtime
