// Readers of the formats of Foreign.h. Each calls `visit` for every record of a file, after the records that it refers
// to, and adds notes about skipped parts to `notes`. It throws Error with the file and the line for damage. A file that
// ends inside a measurement, because it is being written, is read up to this measurement, with a note.
#pragma once

#include "store/Archive.h"

namespace lathe::lab {

using RecordVisitor = std::function<void(const store::Record &)>;
using ForeignReader = void (*)(const std::string &path, const RecordVisitor &visit, std::vector<std::string> &notes);

/// Output of benchdnn --mode=P: lines of a template that begins with a word, such as the default
/// `perf,%engine%,%impl%,%name%,%prb%,%Gops%,%Gfreq%,%-time%,%-Gflops%,%0time%,%0Gflops%`. A line
/// `Output template:` states another one. Times are in ms; `-` is the least, `0` the average and `+`
/// the largest of a line. All other lines are skipped, except lines of ONEDNN_VERBOSE that name the library and the
/// instruction set.
///
///   problem   the problem of Lathe that `%prb%` says, else the text of `%prb%`
///   provider  "benchdnn", the variant is the implementation
///   samples   the average of each line of one problem, a round each; figure least_ms
void readBenchdnn(const std::string &path, const RecordVisitor &visit, std::vector<std::string> &notes);

/// A profile of ONNX Runtime (SessionOptions.enable_profiling): a list of trace events. An event of the category Node
/// with the name `NODE_kernel_time` has operator, execution provider and types with shapes of its operands. An event
/// `model_run` of the category Session is a whole run. Times are whole microseconds.
///
///   problem   the problem of Lathe for operators without attributes (attributes are not in the
///             profile), else the operator of ONNX with types and shapes; `model` for whole runs
///   provider  "onnxruntime", the variant is the execution provider
///   setting   extra "node": the name of the node
///   samples   every execution, a round for each run
void readOnnxRuntimeProfile(const std::string &path, const RecordVisitor &visit, std::vector<std::string> &notes);

/// JSON of Google Benchmark (--benchmark_format=json): a context and a list of benchmarks.
///
///   problem   operator "benchmark", the text is the name of the run
///   provider  "google-benchmark"
///   samples   real_time and cpu_time of each repetition, a round each; counters of hardware, if they
///             have the names of --benchmark_perf_counters, are counts; other counters are figures
///
/// Benchmarks with different "experiment", which our own export writes, are of different experiments.
/// Repetitions that have an error or were skipped make the point `failed` or `unimplemented`. Of
/// aggregates, only a mean without repetitions is used; fits of complexity are left out.
void readGoogleBenchmark(const std::string &path, const RecordVisitor &visit, std::vector<std::string> &notes);

} // namespace lathe::lab
