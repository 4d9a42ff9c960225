// Text and JSON of `lathe profile` (docs/profiling.md).
#pragma once

#include "cli/flags/Options.h"
#include "jobs/profile/Profile.h"
#include "support/Table.h"

#include <nlohmann/json.hpp>

#include <string>

namespace lathe::cli {

class ProfileTable {
public:
  /// Begins the table of a profile. `seconds`: time of the whole run. `clockGhz` converts predicted cycles to time; 0:
  /// predictions are not shown, because they hold for another number of threads.
  ProfileTable(const lab::MachineCeilings &machine, int threads, double seconds, double clockGhz);

  /// Adds the row of an instruction of the plan, with its mean and its minimum time in seconds.
  void add(const runtime::InstructionInfo &info, double seconds, double least);
  /// Adds the last rows of the table: the overhead in seconds, and the whole run.
  void finish(double overhead);

  std::string str(const TableStyle &style) const { return table.str(style); }
  const nlohmann::json &rows() const { return json; }
  /// Speeds of the whole run: nominal operations and compulsory bytes per second, in units of 1e9, and the share of
  /// the roofline.
  double gflops() const { return flops / whole * 1e-9; }
  double gigabytesPerSecond() const { return bytes / whole * 1e-9; }
  double rooflineShare() const { return limit / whole; }
  /// Number of kernels in the table that have no prediction.
  size_t unpredicted() const { return missing; }

private:
  const lab::MachineCeilings &machine;
  int threads;
  double whole, clock; // seconds of the whole run; clock in Hz
  double flops = 0, bytes = 0, limit = 0;
  double predicted = 0, predictedOf = 0; // predicted seconds of kernels; measured seconds of the same kernels
  size_t missing = 0;
  Table table;
  nlohmann::json json = nlohmann::json::array();

  void addRow(const runtime::InstructionInfo &info, double seconds, double predictedSeconds,
              const lab::Roofline &roofline);
};

/// Makes the table of a profile. The profile must outlive the table.
ProfileTable profileTable(const Profile &profile);

std::string profileText(const ProfileJob &options, const Profile &profile, const ProfileTable &table,
                        const TableStyle &style);
nlohmann::json profileJson(const ProfileJob &options, const Profile &profile, const ProfileTable &table);

} // namespace lathe::cli
