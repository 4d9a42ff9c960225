// The tuning records that come with lathe: an archive for each kind of machine on which they were measured
// (docs/records.md, "Shipped records").
//
// Target::key identifies a kind of machine: CPU, features, sizes and sharing of caches. The archives are in
// shippedFolder("records").
#pragma once

#include "store/Archive.h"
#include "support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace lathe::jobs {

/// The environment variable that disables tuning records in all compilations, and shipped models in all searches.
constexpr const char *noRecordsVariable = "LATHE_NO_RECORDS";
/// True if the environment variable `variable` is set and not empty.
bool isSet(const char *variable);
/// Prints on stderr which tuning records are missing and why, once per command.
void sayWithoutRecords(const std::string &records, const Error &error);

/// Paths of all archives of shipped records, sorted; empty if their folder is missing.
std::vector<std::string> shippedArchives();
/// File name of the archive of shipped records for a kind of machine: "znver4-1d0c4c1e.jsonl".
std::string archiveName(const std::string &machine);
/// A text with the names, sizes and times of all archives of shipped records; "" if there are none. Equal texts mean
/// equal records.
std::string shippedIdentity();

/// True if this version of lathe knows the algorithm of the schedule, in the schedule's version, and its parameters.
bool isDeclared(const std::string &schedule);

/// The tuning records that come with lathe for one kind of machine.
class ShippedRecords {
public:
  /// Reads the archive of shipped records for `machine`, a Target::key. Has no records if there is no archive. Throws
  /// Error for a damaged archive.
  explicit ShippedRecords(const std::string &machine);
  /// Reads the archive of shipped records for a kind of machine. Returns nothing with LATHE_NO_RECORDS in the
  /// environment, or for a damaged archive, which is reported on stderr.
  static std::optional<ShippedRecords> ofMachine(const std::string &machine);
  /// Returns the shipped record of a task if its verdict is `faster` and its schedule is declared (isDeclared);
  /// otherwise nothing.
  std::optional<store::TuningRecord> find(const std::string &task) const;

private:
  std::optional<store::ArchiveIndex> index;
};

} // namespace lathe::jobs
