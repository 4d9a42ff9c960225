// Compiles a model to a package, or to what `lathe compile` shows instead of one.
#pragma once

#include "compile/Explain.h"
#include "jobs/Source.h"
#include "jobs/UsedRecords.h"
#include "jobs/tune/SpaceExport.h"

namespace lathe::jobs {

struct CompileJob {
  ModelOptions model;
  std::string output; // file of the package, or of the text of a stage
  int jobs = 1;       // threads of the compilation itself
};

struct CompiledModel {
  CompileReport report;
  uint64_t sourceBytes = 0; // as Source::fileBytes
  RecordUse records;
  /// Bytes of the arena of a run with the streams of the package, and of one without them; 0: there are none, or inputs
  /// have open extents.
  uint64_t streamArenaBytes = 0, sequenceArenaBytes = 0;
};
CompiledModel compileModel(const CompileJob &job);

struct StageText {
  std::string text; // "" if it is in files
  std::vector<nn::WrittenFile> written;
};
/// `stage` as for levelFromName. Without `output`, or with "-", the text is returned.
StageText stageText(const CompileJob &job, const std::string &stage);

struct ExplainedNode {
  Explanation explanation;
  std::string target;
};
/// Why the kernel of a node has its schedule.
ExplainedNode explainNode(const CompileJob &job, const std::string &node);

/// Writes what schedules may be for every kernel of the model.
ExportedSpace exportSpace(const CompileJob &job, const SpaceOptions &space);

} // namespace lathe::jobs
