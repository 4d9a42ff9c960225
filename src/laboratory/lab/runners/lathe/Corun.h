// Runs packages without end at the same time, for `lathe corun` and `lathe bench --instances`. Speaks JSON lines with
// lab/corun/CorunProcess.h:
//
//   hello   as in the runner protocol
//   load    "members": each with "package", "inputs" (.npy file by name), "instances" (lists of CPUs, one a slot), "streams",
//           "apart": on a pool of its own; "outputs" (lab/corun/OutputsHash.h); "shares_cpus": some CPU is given to several
//           slots of members that are not apart. Loads the members, those that are not apart on one
//           pool, and runs each instance once
//   run     "members": indices; "window": path (lab/corun/SharedWindow.h); "instances": number of instances that the window
//           waits for, those of other processes included; "seconds": length of the window. Answers for each member "runs",
//           "share", "slowest_ns", "samples_ns" and "wrong"
#pragma once

namespace lathe {

/// Answers requests on standard input until it ends or a request is "quit". Returns the exit code.
int serveCorun();

} // namespace lathe
