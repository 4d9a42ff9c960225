// A profile as points of the store, and as a separate page.
#pragma once

#include "lab/machine/Machine.h"
#include "runtime/Context.h"
#include "store/Records.h"

#include <string>
#include <vector>

namespace lathe::jobs {

/// One profiled run: the seconds of each instruction, of the overhead and of the whole run.
struct ProfiledRun {
  std::vector<double> rows;
  double overhead = 0, whole = 0;
};

/// Points of the whole run and of the first `count` instructions, with one sample for every run, in order. `model`: the
/// point of the whole run, without times. `clock`, in GHz, converts predicted cycles to time; 0: there are no
/// predictions for this number of threads.
std::vector<store::Point> profilePoints(const store::Point &model, const runtime::Context &context, size_t count,
                                        const std::vector<ProfiledRun> &runs, const store::Disturbance &disturbance,
                                        double clock);

/// The document of a page (report::PageData) with only these points. An experiment without uuid was not stored.
nlohmann::json profilePage(store::Experiment experiment, std::vector<store::Point> points,
                           const lab::MachineCeilings &ceilings, const std::string &title);

} // namespace lathe::jobs
