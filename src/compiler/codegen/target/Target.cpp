#include "codegen/target/Target.h"

#include "machine/System.h"
#include "package/Package.h"
#include "support/Error.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <algorithm>
#include <mutex>

namespace lathe {
namespace {

constexpr const char *spellings =
    "expected native, machine (that of --machine), an LLVM CPU name (x86-64-v3, znver4, cortex-a76) or a triple, each "
    "with "
    "[,cpu=NAME][,+feature][,-feature][,vector-width=BITS], or \"llvm -mcpu=NAME -mattr=+feature -mtriple=TRIPLE "
    "-vector-width=BITS\"";

void initializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
    llvm::InitializeAllAsmParsers();
  });
}

/// The contents of a target's text before LLVM completes them.
struct Request {
  std::string triple, cpu;
  std::vector<std::string> features; // "+x" or "-x"
  unsigned vectorBits = 0;           // 0: the CPU's
};

std::unique_ptr<llvm::MCSubtargetInfo> subtarget(const std::string &triple, const std::string &cpu,
                                                 const std::string &features) {
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  return std::unique_ptr<llvm::MCSubtargetInfo>(target->createMCSubtargetInfo(triple, cpu, features));
}

bool knowsCpu(const std::string &triple, const std::string &cpu) {
  auto info = subtarget(triple, "", "");
  return info && info->isCPUStringValid(cpu);
}

std::string hostTriple() { return llvm::Triple::normalize(llvm::sys::getProcessTriple()); }

void addFeatures(Request &request, llvm::StringRef list, const std::string &text) {
  llvm::SmallVector<llvm::StringRef> parts;
  list.split(parts, ',', -1, false);
  for (llvm::StringRef part : parts) {
    require(part.size() > 1 && (part[0] == '+' || part[0] == '-'), "target '{}': feature '{}' lacks its + or -", text,
            part.str());
    request.features.push_back(part.str());
  }
}

void setVectorWidth(Request &request, llvm::StringRef value, const std::string &text) {
  require(value == "128" || value == "256" || value == "512",
          "target '{}': vector-width '{}', expected 128, 256 or 512", text, value.str());
  value.getAsInteger(10, request.vectorBits);
}

/// Baseline CPU of an architecture, if a target's text names no CPU.
std::string baseline(const llvm::Triple &triple) {
  return triple.getArch() == llvm::Triple::x86_64 ? "x86-64-v2" : "generic";
}

Request parseTvm(const std::string &text) {
  Request request;
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringRef(text).split(words, ' ', -1, false);
  for (llvm::StringRef word : llvm::ArrayRef(words).drop_front()) {
    auto [name, value] = word.split('=');
    name = name.ltrim('-');
    if (name == "mcpu")
      request.cpu = value.str();
    else if (name == "mtriple")
      request.triple = value.str();
    else if (name == "mattr")
      addFeatures(request, value, text);
    else if (name == "vector-width")
      setVectorWidth(request, value, text);
    else if (name != "device" && name != "keys" && name != "num-cores" && name != "model" && name != "opt-level" &&
             name != "libs")
      fail("target '{}': option '{}' is unknown; expected -mcpu, -mattr, -mtriple, -vector-width", text, word.str());
  }
  return request;
}

Request parseWords(const std::string &text) {
  Request request;
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(text).split(parts, ',', -1, false);
  require(!parts.empty(), "target '{}' is empty; {}", text, spellings);
  for (size_t i = 0; i < parts.size(); ++i) {
    llvm::StringRef part = parts[i].trim();
    if (part.consume_front("cpu="))
      request.cpu = part.str();
    else if (part.consume_front("vector-width="))
      setVectorWidth(request, part, text);
    else if (part.starts_with("+") || part.starts_with("-"))
      addFeatures(request, part, text);
    else if (i > 0)
      fail("target '{}': '{}' is not understood; {}", text, part.str(), spellings);
    else if (part == "native" || part == "machine")
      request.cpu = part.str();
    else if (llvm::Triple(part).getArch() != llvm::Triple::UnknownArch && !knowsCpu(hostTriple(), part.str()))
      request.triple = part.str();
    else
      request.cpu = part.str();
  }
  return request;
}

/// A CPU name without a triple belongs to the host's architecture if that has the CPU, else to the first that has.
std::string tripleFor(const std::string &cpu) {
  for (const std::string &triple :
       {hostTriple(), std::string("x86_64-unknown-linux-gnu"), std::string("aarch64-unknown-linux-gnu")})
    if (knowsCpu(triple, cpu))
      return triple;
  return "";
}

/// Differences between the features of `machine` and the features of its CPU; "" if the machine lists no features.
std::string featureChanges(const MachineFacts &machine, const std::string &triple) {
  std::string removed, added;
  if (machine.features.empty())
    return "";
  auto info = subtarget(triple, machine.cpu, "");
  auto named = [&](const std::string &feature) {
    return llvm::any_of(info->getAllProcessorFeatures(), [&](const llvm::SubtargetFeatureKV &kv) {
      return feature == kv.Key && info->getFeatureBits().test(kv.Value);
    });
  };
  for (const std::string &feature : knownFeatures(machine.architecture)) {
    bool listed = llvm::is_contained(machine.features, feature);
    if (listed != named(feature)) // removals first: they also remove what implies them
      (listed ? added : removed) += (listed ? ",+" : ",-") + feature;
  }
  return llvm::StringRef(removed + added).ltrim(',').str();
}

/// Replaces "native" and "machine" by the names of CPUs, and returns the differences of the features.
std::string resolveCpu(Request &request, const MachineFacts *given, const std::string &text) {
  std::string changes;
  if (request.cpu == "native") {
    require(request.triple.empty() || llvm::Triple(request.triple).getArch() == llvm::Triple(hostTriple()).getArch(),
            "target '{}': cpu native is {}, the triple is for another architecture", text,
            llvm::Triple(hostTriple()).getArchName().str());
    request.cpu = llvm::sys::getHostCPUName().str();
    if (request.triple.empty())
      request.triple = hostTriple();
    for (const auto &feature : llvm::sys::getHostCPUFeatures()) // a virtual machine may hide features of the CPU
      changes += std::string(changes.empty() ? "" : ",") + (feature.second ? "+" : "-") + feature.first().str();
  } else if (request.cpu == "machine") {
    require(given, "target '{}': machine is the one of --machine FILE, which was not given", text);
    request.cpu = given->cpu;
    if (request.triple.empty())
      request.triple = given->architecture + "-unknown-linux-gnu";
    require(knowsCpu(request.triple, request.cpu), "target '{}': LLVM knows no CPU '{}' of {}, the CPU of --machine",
            text, request.cpu, given->architecture);
    changes = featureChanges(*given, request.triple);
  } else if (request.triple.empty()) {
    request.triple = request.cpu.empty() ? hostTriple() : tripleFor(request.cpu);
  }
  return changes;
}

/// The triple for objects: always ELF, which the loader needs, for any system in `requested`.
llvm::Triple objectTriple(const std::string &requested, const std::string &text) {
  llvm::Triple triple(llvm::Triple::normalize(requested));
  require(triple.getArch() == llvm::Triple::x86_64 || triple.getArch() == llvm::Triple::aarch64,
          "target '{}': architecture '{}' is not supported, expected x86_64 or aarch64", text,
          triple.getArchName().str());
  triple.setObjectFormat(llvm::Triple::ELF);
  if (triple.getOS() != llvm::Triple::Linux)
    triple.setOS(llvm::Triple::Linux);
  if (triple.getEnvironment() == llvm::Triple::UnknownEnvironment)
    triple.setEnvironment(llvm::Triple::GNU);
  return triple;
}

/// Sets the features of `target`: its CPU's features, changed by `changes` and by the target's text.
void setFeatures(Target &target, const Request &request, std::string changes, const std::string &text) {
  auto known = subtarget(target.triple, "", "");
  for (const std::string &feature : request.features) {
    bool found = llvm::any_of(known->getAllProcessorFeatures(),
                              [&](const llvm::SubtargetFeatureKV &kv) { return feature.substr(1) == kv.Key; });
    require(found, "target '{}': {} has no feature '{}'", text, llvm::Triple(target.triple).getArchName().str(),
            feature.substr(1));
    changes += (changes.empty() ? "" : ",") + feature;
  }
  auto info = subtarget(target.triple, target.cpu, changes);
  for (const llvm::SubtargetFeatureKV &kv : info->getAllProcessorFeatures())
    if (info->getFeatureBits().test(kv.Value))
      target.features.push_back(kv.Key);
  std::sort(target.features.begin(), target.features.end());
}

void setVectors(Target &target, const Request &request, bool x86, const std::string &text) {
  if (x86) {
    // Below SSE 4.1 rounding would be a library call, and kernels import nothing.
    require(target.has("sse4.2"), "target '{}': CPU '{}' lacks sse4.2, expected x86-64-v2 or newer", text, target.cpu);
    if (target.has("avx512f") && target.has("avx512vl") && target.has("avx512bw") && target.has("avx512dq")) {
      target.vectorBits = 512;
      target.vectorRegisters = 32;
    } else if (target.has("avx")) {
      target.vectorBits = 256;
    }
  } else {
    require(target.has("neon"), "target '{}': CPU '{}' lacks neon", text, target.cpu);
    target.vectorRegisters = 32;
  }
  if (request.vectorBits && request.vectorBits != target.vectorBits) {
    require(x86, "target '{}': vectors of {} have {} bits", text, llvm::Triple(target.triple).getArchName().str(),
            target.vectorBits);
    target.vectorBits = request.vectorBits;
    target.vectorRegisters = request.vectorBits == 512 ? 32 : 16;
    target.chosenVectorBits = true;
  }
}

MachineFacts factsOf(const Target &target, const std::string &architecture, bool native, const MachineFacts *given,
                     const std::string &text) {
  std::vector<std::string> features;
  for (const std::string &feature : knownFeatures(architecture))
    if (target.has(feature))
      features.push_back(feature);
  if (given) {
    require(given->architecture == architecture, "target '{}': is of {}, --machine describes one of {}", text,
            architecture, given->architecture);
    MachineFacts machine = *given;
    if (machine.features.empty())
      machine.features = features;
    return machine;
  }
  if (!native)
    return machineFromTable(target.cpu, architecture, features);
  MachineFacts machine = nativeMachine(target.cpu, systemFacts(), readMeasuredRates(machineRecordPath()));
  machine.features = features;
  return machine;
}

} // namespace

bool Target::has(const std::string &feature) const {
  return std::binary_search(features.begin(), features.end(), feature);
}

std::span<const ElementType> Target::blockedTypes() {
  // A block is a vector of 32-bit numbers, because bytes are widened for computing.
  static constexpr ElementType types[] = {ElementType::f32, ElementType::i32, ElementType::i8, ElementType::u8};
  return types;
}

unsigned Target::channelBlock(ElementType type) const { return lanes(std::max(32u, bitWidth(type))); }

double Target::fmaPerCycle() const {
  // A core that starts one 512-bit multiply-add starts two of 256 bits.
  return machine.fmaPerCycle < 2 && has("avx512f") && vectorBits < 512 ? 2 : machine.fmaPerCycle;
}

std::string Target::str() const { return llvm::Triple(triple).getArchName().str() + " " + cpu; }

std::string Target::key() const {
  std::string width = chosenVectorBits ? fmt::format(" vector-width={}", vectorBits) : "";
  std::string other = machine.cpu == cpu ? "" : " of " + machine.cpu;
  return cpu + " " + package::featureNames(featureBits) + width + " " + machine.cachesText() + other;
}

Target Target::parse(const std::string &text, const MachineFacts *given) {
  initializeTargets();
  Request request = text == "llvm" || llvm::StringRef(text).starts_with("llvm ") ? parseTvm(text) : parseWords(text);
  bool native = request.cpu == "native";
  std::string changes = resolveCpu(request, given, text);
  require(!request.triple.empty(), "target '{}': no architecture knows CPU '{}'; {}", text, request.cpu, spellings);

  Target target;
  llvm::Triple triple = objectTriple(request.triple, text);
  bool x86 = triple.getArch() == llvm::Triple::x86_64;
  std::string architecture = triple.getArchName().str();
  target.triple = triple.str();
  target.cpu = request.cpu.empty() ? baseline(triple) : request.cpu;
  require(knowsCpu(target.triple, target.cpu), "target '{}': {} has no CPU '{}'; {}", text, architecture, target.cpu,
          spellings);
  setFeatures(target, request, changes, text);
  std::vector<std::string> required = target.features;
  required.push_back(x86 ? "x86_64" : "aarch64");
  target.featureBits = package::featureBits(required);
  setVectors(target, request, x86, text);
  target.machine = factsOf(target, x86 ? "x86_64" : "aarch64", native, given, text);
  return target;
}

} // namespace lathe
