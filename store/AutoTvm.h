// Reads logs of AutoTVM 0.2 (TVM's tuner) as tuning records, to look at them beside ours. No task
// of Lathe has such a text, so no compilation uses them.
//
// A line is {"input": [target, task, arguments, keyword arguments], "config": {"index",
// "code_hash", "entity": [[knob, kind, value], ...]}, "result": [[seconds, ...], error number,
// seconds spent, time], "version": 0.2, "tvm_version"} (tvm/autotvm/record.py). It becomes a record
// with
//
//   platform  no machine, only the version of TVM: a log does not name its machine
//   task      "autotvm/0.2 | conv2d_NCHWc.x86 | float32 1x3x224x224; ... | llvm -mcpu=skylake"
//   schedule  the knobs: "autotvm/0.2 index=172 tile_ic=-1,3 unroll_kw=true"
//   seconds   the mean of the seconds, as AutoTVM compares
//   status    of the error number; the reason names it
#pragma once

#include "store/Archive.h"

namespace lathe::store {

/// True if the first line of the file is one of such a log, of any version.
bool isAutoTvmLog(const std::string &path);

/// Calls `visit` for every record, after its platform. Empty lines and lines that begin with # are
/// skipped. Throws Error with the file and the line for anything else that is not a line of version
/// 0.2.
void readAutoTvmLog(const std::string &path, const std::function<void(const Record &)> &visit);

} // namespace lathe::store
