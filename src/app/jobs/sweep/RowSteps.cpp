#include "jobs/sweep/RowSteps.h"

#include "jobs/Self.h"
#include "jobs/sweep/RowFile.h"

#include <algorithm>

namespace lathe::jobs {
namespace {

/// The first row of Lathe that has run the model of `row`; null: none has.
const SweepRow *preparedLike(const SweepRow &row, const std::vector<SweepRow> &rows) {
  auto found = std::find_if(rows.begin(), rows.end(), [&](const SweepRow &other) {
    return other.runtime.empty() && other.model.model == row.model.model && other.reason.empty() && other.point;
  });
  return found == rows.end() ? nullptr : &*found;
}

void prepareOne(size_t number, const RowWork &work) {
  SweepRow &row = work.rows[number];
  if (row.runtime.empty())
    return prepareRow(row, work.folder.stem(number), work.inputs);
  const SweepRow *ours = preparedLike(row, work.rows);
  if (ours)
    return prepareRuntimeRow(row, work.folder.stem(number) + ".outputs", *ours);
  row.done = true;
  row.reason = "not run: no row of Lathe has outputs to compare with";
}

/// Determines the range of the pixels from the inputs of all rows.
void takeRange(const RowWork &work) {
  for (const SweepRow &row : work.rows)
    if (row.picture)
      work.pictures.preprocessing.takeRange(*row.picture, row.model.model);
}

/// Runs a step in a separate process, and reads its results.
void runStep(const std::string &step, size_t number, const RowWork &work) {
  SweepRow &row = work.rows[number];
  Arguments arguments{"sweep"};
  arguments.insert(arguments.end(), work.arguments.begin(), work.arguments.end());
  for (const std::string &word :
       {quietFlag(), RowStep::stepFlag + std::string("=") + step, fmt::format("{}={}", RowStep::rowFlag, number),
        RowStep::folderFlag + ("=" + work.folder.path())})
    arguments.push_back(word);
  std::optional<std::string> why = trySelf(arguments);
  if (!why && readRow(row, work.folder.file(number)))
    return;
  row.done = row.failed = true;
  row.reason = fmt::format("{}: {}", step == "prepare" ? "not timed" : "not classified",
                           why ? *why : "its process left no result");
  writeRow(row, work.folder.file(number)); // repeating it would end in the same way
}

} // namespace

void doStep(const RowStep &step, const RowWork &work) {
  for (size_t i = 0; i < work.rows.size(); ++i)
    readRow(work.rows[i], work.folder.file(i));
  if (step.step == "prepare") {
    prepareOne(step.row, work);
  } else {
    takeRange(work);
    classifyRow(work.rows[step.row], work.pictures);
  }
  writeRow(work.rows[step.row], work.folder.file(step.row));
}

void prepareRows(const RowWork &work, bool classifies,
                 const std::function<void(const std::string &what, size_t row)> &progress,
                 const std::function<void()> &afterStep) {
  for (size_t i = 0; i < work.rows.size(); ++i) {
    progress("row", i);
    if (!readRow(work.rows[i], work.folder.file(i)))
      runStep("prepare", i, work);
    afterStep();
  }
  if (!classifies)
    return;
  takeRange(work);
  for (size_t i = 0; i < work.rows.size(); ++i) {
    progress("pictures at row", i);
    if (work.rows[i].reason.empty() && work.rows[i].decisions.empty())
      runStep("classify", i, work);
    afterStep();
  }
}

} // namespace lathe::jobs
