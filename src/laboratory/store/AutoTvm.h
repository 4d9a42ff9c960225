// Reads logs of AutoTVM 0.2 (TVM's tuner) as tuning records and as points, for comparison with ours. No task of Lathe
// has a text like theirs, so no compilation uses them.
//
// A line is {"input": [target, task, arguments, keyword arguments], "config": {"index",
// "code_hash", "entity": [[knob, kind, value], ...]}, "result": [[seconds, ...], error number,
// seconds spent, time], "version": 0.2, "tvm_version"} (tvm/autotvm/record.py). It becomes a record
// with
//
//   platform  no machine, only the version of TVM: a log does not name its machine
//   task      "autotvm/0.2 | conv2d_NCHWc.x86 | float32 1x3x224x224; ... | llvm -mcpu=skylake"
//   schedule  the knobs: "autotvm/0.2 index=172 tile_ic=-1,3 unroll_kw=true"
//   seconds   the mean of the seconds, which AutoTVM compares
//   status    notVerified, or the status for the error number; the reason names the error
//
// and a point of an experiment of the kind `imported`: the task and its arguments are the problem, the knobs the
// schedule, and every time of the line is a sample. The experiment of a log is named by its first line and the version
// of TVM, so a log that has grown adds its new lines to it.
#pragma once

#include "store/Archive.h"

namespace lathe::store {

/// True if the first line of the file is of a log of AutoTVM, of any version.
bool isAutoTvmLog(const std::string &path);

/// Reads a log of AutoTVM. Calls `visit` for every record, after the records that it refers to. Skips empty
/// lines and lines that begin with #. An incomplete last line, as in a log that is being written, is skipped and
/// mentioned in `notes`. Throws Error with the file and the line for any other line that is not of version 0.2.
void readAutoTvmLog(const std::string &path, const std::function<void(const Record &)> &visit,
                    std::vector<std::string> &notes);

} // namespace lathe::store
