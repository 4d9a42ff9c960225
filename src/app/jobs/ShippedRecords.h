// The tuning records that come with lathe: an archive for each kind of machine on which they were
// measured (docs/records.md, "Shipped records").
//
// A kind of machine is what Target::key says of it: CPU, features, sizes and sharing of caches. The
// archives are in shippedFolder("records").
#pragma once

#include "store/Archive.h"
#include "support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace lathe::jobs {

/// The environment variable that compiles everything without records, and lets no search start from shipped models.
constexpr const char *noRecordsVariable = "LATHE_NO_RECORDS";
/// True if an environment variable has a text.
bool isSet(const char *variable);
/// Says on stderr what compilations go without, once per command.
void sayWithoutRecords(const std::string &records, const Error &error);

/// Paths of all archives, sorted; empty without their folder.
std::vector<std::string> shippedArchives();
/// File name of the archive for a kind of machine: "znver4-1d0c4c1e.jsonl".
std::string archiveName(const std::string &machine);
/// Names, sizes and times of all archives; "" without any. Equal texts mean equal records.
std::string shippedIdentity();

/// False if this lathe does not know the algorithm in this version, or not these parameters.
bool isDeclared(const std::string &schedule);

/// The records for one kind of machine.
class ShippedRecords {
public:
  /// `machine`: Target::key. Without an archive it has no records. Throws Error for a damaged archive.
  explicit ShippedRecords(const std::string &machine);
  /// The records for a kind of machine. A damaged archive is said on stderr; then, and with LATHE_NO_RECORDS in the
  /// environment, there are none.
  static std::optional<ShippedRecords> ofMachine(const std::string &machine);
  /// Returns the record of a task if its verdict is `faster` and its schedule is declared, or nothing.
  std::optional<store::TuningRecord> find(const std::string &task) const;

private:
  std::optional<store::ArchiveIndex> index;
};

} // namespace lathe::jobs
