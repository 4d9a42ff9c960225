// Converts a profile to points (measured values) of the store, and to the data of an HTML page.
#pragma once

#include "lab/machine/Machine.h"
#include "runtime/Context.h"
#include "store/Records.h"

#include <string>
#include <vector>

namespace lathe::jobs {

/// Times of one profiled run in seconds: of each instruction (`rows`), of the overhead and of the whole run.
struct ProfiledRun {
  std::vector<double> rows;
  double overhead = 0, whole = 0;
};

/// Returns one point for the whole run and one for each of the first `count` instructions. Every point has one sample
/// for each run, in order. `model`: the point for the whole run, without times. `clock`: clock rate in GHz, which
/// converts predicted cycles to time; 0: no predictions exist for this number of threads.
std::vector<store::Point> profilePoints(const store::Point &model, const runtime::Context &context, size_t count,
                                        const std::vector<ProfiledRun> &runs, const store::Disturbance &disturbance,
                                        double clock);

/// Returns the data of an HTML page (report::PageData) with only these points. An experiment without uuid was not
/// stored.
nlohmann::json profilePage(store::Experiment experiment, std::vector<store::Point> points,
                           const lab::MachineCeilings &ceilings, const std::string &title);

} // namespace lathe::jobs
