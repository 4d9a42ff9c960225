// A task of tuning: a distinct kernel of a model.
#pragma once

#include "support/BatchOrder.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lathe::tune {

struct Task {
  std::string key;    // text of the task (codegen/Task.h)
  std::string kernel; // text of a module with the kernel function at kernels level, without weights
  std::string family; // kernel family: attribute nn.family of the function
  std::string label;  // short text about the kernel for messages and tables
  std::vector<std::string> nodes;
  int64_t count = 1;                      // number of kernels of the model that have this task
  double flops = 0, bytes = 0;            // operations and compulsory bytes of one run
  std::map<std::string, int64_t> extents; // extents of symbols with which the kernel is measured
  BatchOrder order = BatchOrder::call;    // order of the images in measured runs of the kernel
};

} // namespace lathe::tune
