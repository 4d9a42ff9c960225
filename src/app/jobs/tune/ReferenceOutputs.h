// Computes a model's outputs with the reference operators, and compares packages with them in a separate process.
#pragma once

#include "jobs/Source.h"
#include "lab/judging/Tolerance.h"

#include <map>
#include <set>

namespace lathe::jobs {

/// The outcome of comparing a package's outputs with the reference outputs.
struct PackageCheck {
  bool passed = false;
  /// True if an output differs, or the package cannot run. Neither `passed` nor `wrong` is set if the time ended
  /// before the answer was known.
  bool wrong = false;
  /// Outcome as text: "verified: relative error 3.1e-07", "not verified: the package did not run within 10 s".
  std::string text;
};

class ReferenceOutputs {
public:
  /// Computes the outputs of the model in float64, for the first set of random inputs of `lathe verify`. After
  /// `limitSeconds`, the computation ends between two operators: then complete() is false. Throws Error for a model
  /// that the references cannot compute here.
  ReferenceOutputs(const ModelOptions &model, double limitSeconds);

  bool complete() const { return isComplete; }
  /// Runs a package in another process, for at most `seconds`, and compares its outputs with the reference outputs.
  /// Requires complete().
  PackageCheck check(const std::string &package, double seconds) const;

private:
  ModelOptions model;
  std::set<ElementType> types; // element types of all values in the model
  std::vector<runtime::Port> ports;
  std::vector<Value> inputs, expected;
  std::vector<std::string> names; // names of the outputs
  bool isComplete = false;

  PackageCheck compared(const std::map<std::string, std::string> &files, const lab::Tolerance &tolerance) const;
};

} // namespace lathe::jobs
