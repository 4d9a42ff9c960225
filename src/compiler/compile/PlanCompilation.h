// The steps by which one module is compiled to a plan, and the parts of a package that several plans share.
#pragma once

#include "compile/Compile.h"
#include "compile/Kernels.h"
#include "ir/ExtentRules.h"
#include "passes/Pipeline.h"

#include <chrono>
#include <span>

namespace lathe {

/// The parts that all plans of a package share: target, schedules, kernels and constants.
class PackageParts {
public:
  /// Throws Error for options that contradict each other or the target. `options` must outlive the object.
  PackageParts(mlir::ModuleOp module, const CompileOptions &options);

  using Write = std::function<void(const plan::ProgramT &, std::span<const package::CodeSection>)>;
  /// Generates the code of all kernels, then calls `write` with the program, which has the plans added so far.
  void writeTo(mlir::ModuleOp module, const Write &write);

  void step(const char *what, size_t done, size_t total);
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start).count(); }

  const CompileOptions &options;
  Target target;
  ScheduleBook schedules;
  KernelLibrary library;
  package::Constants constants;
  CompileReport report; // figures of the last plan that was added, and of the whole package
  std::vector<std::unique_ptr<plan::PlanT>> plans;
  // by kernel, over all plans in order: index of its code among the kernel library's entries
  std::vector<size_t> code;

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
};

/// The compilation of one module to a plan. Rewrites the module.
class PlanCompilation {
public:
  PlanCompilation(mlir::ModuleOp module, PackageParts &parts) : module(module), parts(parts) {}

  /// Runs the graph passes. Does nothing if the module is at kernels level.
  void optimize();
  void formKernels();
  /// Builds the plan of the module and adds it to the shared parts of the package.
  void buildPlan();

  /// All schedules and graph choices as text in the form of a schedule file. Call it after buildPlan().
  std::string scheduleText() const;

private:
  mlir::ModuleOp module;
  PackageParts &parts;
  std::map<std::string, std::string> referenceReasons; // by node: why it runs on its reference, as the passes say
  std::vector<nn::NodeRule> rules;
  std::vector<PipelineReport::Layouts> layouts;
  std::vector<PipelineReport::Fusion> fusions;
  std::vector<PipelineReport::Merge> merges;
  bool listsConversions = false;              // true if this object has formed the kernels itself
  std::vector<std::string> conversionKernels; // names of the kernels that compute the report's conversions

  void collectRules();
  void noteMerges(std::vector<PipelineReport::Merge> found);
  void noteRowMajor(const PipelineReport &passes);
  void predictConversions(const plan::PlanT &plan);
  PipelineOptions pipelineOptions();
};

/// Compiles a plan for each variant, then the general one, which the runtime tries last. Rewrites the module.
void addPlans(mlir::ModuleOp module, PackageParts &parts);

} // namespace lathe
