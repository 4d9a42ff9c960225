// Profiled runs as a trace for Perfetto and chrome://tracing: the JSON of Chrome's trace events.
//
// Format: "Trace Event Format", https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU; the
// part that Perfetto reads: https://perfetto.dev/docs/getting-started/other-formats.
#pragma once

#include "lab/machine/Machine.h"
#include "runtime/Context.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace lathe::jobs {

/// The traced runs of one context, in the order in which they ran.
class TraceRuns {
public:
  /// Number of events from which on no further run should be added to a trace. It also limits the events of one run if
  /// there is no option --trace-events.
  static constexpr size_t most = 2000000;
  /// Returns the limit on the events of each track of a run if there is no option --trace-events. All tracks together
  /// then have at most `most` events, which take at most 64 MB.
  static size_t limitOf(int threads) { return most / (size_t(threads) + 1); }
  bool isFull() const { return events >= most; }
  /// Adds the last run of `context` to the trace.
  void add(const runtime::Context &context);
  size_t runs() const { return list.size(); }
  /// Returns the number of events in all runs that were counted but not kept.
  uint64_t leftOut() const { return omitted; }

  /// Writes the trace of all runs to the file `path`. `counts`: for each run, true if the means of the profile include
  /// it. `about`: a JSON object about the process, to which the number of dropped events is added. A file whose name
  /// ends in .gz is compressed. Throws Error if the file cannot be written.
  void write(const std::string &path, const runtime::Context &context, const lab::MachineCeilings &machine,
             const std::vector<bool> &counts, nlohmann::json about) const;

private:
  struct Run {
    runtime::RunProfile profile;
    runtime::RunTrace trace;
  };
  std::vector<Run> list;
  size_t events = 0;
  uint64_t omitted = 0;
};

} // namespace lathe::jobs
