// The decoded plan (format: package/plan.fbs), checked once and immutable.
#pragma once

#include "runtime/References.h"
#include "runtime/plan/ImageCost.h"
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

/// Index into Plan::extents. Equal texts are parsed and evaluated once.
using Extent = uint32_t;

enum class Storage : uint8_t { input, output, constant, temporary, alias, dynamic };

struct ValueInfo {
  std::string name;
  ValueKind kind = ValueKind::tensor;
  ElementType type = ElementType::invalid;
  std::vector<Extent> dims;
  int blockAxis = -1; // -1: row-major
  int64_t block = 0;
  Storage storage = Storage::temporary;
  uint64_t offset = 0;      // constants: offset in the constants section
  Extent bytes = 0;         // physical size
  uint32_t root = 0;        // the value that owns the bytes: itself, unless an alias
  Extent rootOffset = 0;    // offset in the root, in bytes
  bool known = true;        // extents depend on the inputs' extents alone
  std::string quantization; // of ports: text of a Quantization; "": none
};

struct KernelInfo {
  std::string name, family;
  std::vector<std::string> nodes;
  std::string shapes, schedule;
  Extent flops = 0, bytes = 0;
  std::string origin;         // of the schedule
  double predictedCycles = 0; // extents that are symbols at 1; 0: none
};

/// A buffer whose element i must be from least[i % n] to most[i % n].
struct ElementRange {
  uint32_t buffer = 0; // index into CallKernel::buffers
  std::vector<Extent> least, most;
  std::string operand; // for messages
};

struct CallKernel {
  uint32_t kernel = 0;
  std::vector<uint32_t> buffers;
  std::vector<Extent> dims;
  Extent units = 0, scratchBytes = 0;
  Extent images = 0; // number of ranges of units that touch one image each; 1: unknown
  Extent stages = 0; // number of ranges of units that run one after the other; 1: all units are independent
  std::vector<ElementRange> elementRanges;
  Extent firstUnit = 0;                      // work items before it copy a past that is in place (Growth)
  double callSeconds = 0, imagesSeconds = 0; // measured times of both orders of images on plannedThreads; 0: none
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
  uint32_t id = 0;   // number in depth-first order from the entry block
  uint32_t last = 0; // highest id inside; its own id unless it has blocks
  bool known = true; // all its values have extents that depend on the inputs' extents alone
  std::variant<CallKernel, CallReference, ComputeShape, If, Loop> operation;
};
/// A relation between extents that must hold.
struct Rule {
  Relation relation = Relation::equal;
  Extent left = 0, right = 0;
  std::string node;     // node of the model that needs the relation
  bool known = true;    // both extents follow from the inputs' alone
  bool grouped = false; // checked when the extents of a late group change
};

struct Block {
  std::vector<Instruction> instructions;
  std::vector<Rule> rules;              // of a body: checked where it runs, as soon as their symbols are bound
  std::vector<std::string> lateSymbols; // of a body: symbols that its instructions bind
};

/// An output that equals an input followed by more elements along `axis`. The runtime binds two symbols: the output's
/// room along `axis`, and 1 if the input already lies at the front of the output's memory, else 0.
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

/// Lifetime of a value's bytes in instructions, inclusive; `first > last`: never.
struct LiveRange {
  uint32_t first = UINT32_MAX, last = 0;
};

/// Extents that become known together while the plan runs, and the values that are placed then.
struct LateGroup {
  uint32_t after = 0;               // number of the instruction after which they are known
  uint32_t last = 0;                // number of the last instruction that uses one of the values
  std::vector<std::string> symbols; // symbols of the extents, without the inputs' symbols
  std::vector<Extent> extents;
  std::vector<uint32_t> values; // temporaries and outputs
  std::vector<uint32_t> rules;  // of the plan
  uint32_t arena = 0;           // groups that are never in use at the same time share an arena
};

struct Plan {
  std::vector<Dim> extents;
  std::vector<ValueInfo> values;
  std::vector<uint32_t> inputs, outputs;
  std::vector<KernelInfo> kernels;
  uint32_t firstKernel = 0; // number of kernels[0] in the package
  std::vector<Block> blocks;
  std::vector<Range> ranges;
  std::vector<Growth> growths;
  std::vector<Overwrite> overwrites;
  ImageCosts imageCosts;        // decide where a batch passes image by image
  uint32_t measuredChoices = 0; // operators for which measured times chose layouts or kernels
  std::vector<Rule> rules;
  std::vector<std::string> lateSymbols;          // symbols of rules that are known only after a reference returns
  std::vector<LiveRange> live;                   // by value; roots only
  std::vector<uint32_t> firstUse;                // by value (aliases counted separately): id of its first instruction
  std::vector<const Instruction *> instructions; // by id
  std::vector<bool> outermost;                   // by id: in the entry block
  std::unordered_map<std::string, uint32_t> byName; // values
  bool usesReferences = false;
  std::vector<LateGroup> lateGroups;
  std::vector<int> lateGroupAfter; // by id: group whose extents are known after the instruction; -1: none
  uint32_t lateArenas = 0;
  std::unordered_map<std::string, std::vector<Extent>> lateExtents; // of all groups, by symbol
};

struct Program {
  std::string producer, model, options, machine;
  std::vector<Plan> plans;
  uint32_t kernelCount = 0;
  int threads = 0; // threads for which schedules were chosen; 0: unknown
};

/// Returns the name if `dim` is a single symbol, else "".
std::string loneSymbol(const Dim &dim);

/// Decodes and checks a plan section. `constantBytes` bounds the offsets of constants. Throws Error
/// that begins with `file`. References are looked up here, so a package that needs missing
/// references fails when it is loaded.
Program decodeProgram(std::span<const char> section, uint64_t constantBytes, const std::string &file);

} // namespace lathe::runtime
