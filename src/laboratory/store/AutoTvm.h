// Reads logs of AutoTVM 0.2 (TVM's tuner) as tuning records and as points, to look at them beside
// ours. No task of Lathe has such a text, so no compilation uses them.
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
//   status    notVerified, or the status that the error number stands for; the reason names the error
//
// and a point of an experiment of the kind `imported`: the task and its arguments are the problem,
// the knobs the schedule, and every time of the line is a sample. The experiment of a log is named
// by its first line and the version of TVM, so a log that has grown adds its new lines to it.
#pragma once

#include "store/Archive.h"

namespace lathe::store {

/// True if the first line of the file is one of such a log, of any version.
bool isAutoTvmLog(const std::string &path);

/// Calls `visit` for every record, after what it refers to. Empty lines and lines that begin with # are skipped. A last
/// line without an end, as of a log that is being written, is left out if it is not a document, and said in `notes`.
/// Throws Error with the file and the line for anything else that is not a line of version 0.2.
void readAutoTvmLog(const std::string &path, const std::function<void(const Record &)> &visit,
                    std::vector<std::string> &notes);

} // namespace lathe::store
