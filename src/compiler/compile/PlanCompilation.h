// The compilation of one module to a plan, and the parts of a package that its plans share.
#pragma once

#include "compile/Compile.h"
#include "compile/Kernels.h"
#include "ir/ExtentRules.h"
#include "passes/Pipeline.h"

#include <chrono>
#include <span>

namespace lathe {

/// The parts of a package that its plans share: target, schedules, kernels and constants.
class PackageParts {
public:
  /// Throws Error for options that contradict each other or the target. `options` must outlive the object.
  PackageParts(mlir::ModuleOp module, const CompileOptions &options);

  using Write = std::function<void(const plan::ProgramT &, std::span<const package::CodeSection>)>;
  /// Makes the code of all kernels and calls `write` with the program of the plans added so far.
  void writeTo(mlir::ModuleOp module, const Write &write);

  void step(const char *what, size_t done, size_t total);
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start).count(); }

  const CompileOptions &options;
  Target target;
  ScheduleBook schedules;
  KernelLibrary library;
  package::Constants constants;
  CompileReport report; // of the plan that was added last, and of the whole package
  std::vector<std::unique_ptr<plan::PlanT>> plans;
  std::vector<size_t> code; // by kernel of all plans in order: index into the code entries of the library

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
};

/// Compiles a module, which is rewritten, to a plan.
class PlanCompilation {
public:
  PlanCompilation(mlir::ModuleOp module, PackageParts &parts) : module(module), parts(parts) {}

  /// Runs the graph passes. Does nothing on text at kernels level.
  void optimize();
  void formKernels();
  /// Adds the plan to the parts.
  void buildPlan();

  /// All choices as text, in the form that schedule files have. Call it after buildPlan().
  std::string scheduleText() const;

private:
  mlir::ModuleOp module;
  PackageParts &parts;
  std::map<std::string, std::string> referenceReasons; // by node, from the passes
  std::vector<nn::NodeRule> rules;
  std::vector<PipelineReport::Layouts> layouts;
  std::vector<PipelineReport::Fusion> fusions;
  bool listsConversions = false;              // the kernels were formed here
  std::vector<std::string> conversionKernels; // of the report's conversions

  void collectRules();
  void noteRowMajor(const PipelineReport &passes);
  void predictConversions(const plan::PlanT &plan);
  PipelineOptions pipelineOptions();
};

} // namespace lathe
