// The account of a network: each operator's time alone and in a profiled run of the network, and the time outside
// operators. The differences of all lines add up to the difference between estimate and measured time.
#pragma once

#include "report/Network.h"

#include <map>

namespace lathe::report {

/// The state of the caches in which a network finds the constants of its operators: coldConstants if all constants
/// together exceed the last-level cache, because each constant is used again only after all others; otherwise hot.
/// Depends on sizes, not on times.
store::CacheState networkState(double constantBytes, double lastLevelBytes);

/// State of the caches in which an operator's time was measured or must be measured: `network` if the operator has
/// constants, otherwise hot.
store::CacheState operatorState(const std::string &problem, store::CacheState network);

/// Bytes of the constants of all operators of a network; an operator counts as often as it occurs.
double constantBytes(const std::vector<Part> &parts);
/// Bytes of the outermost cache of a platform's processor; 0 if unknown.
double lastLevelBytes(const store::Platform &platform);

/// Returns copies of those `rows` that were measured with the caches in the state in which a network of `parts` finds
/// them (operatorState), with their settings marked "caches as in the network". `state` returns the network's state on
/// a platform.
std::vector<Row> rowsAsInNetwork(const std::vector<Row> &rows,
                                 const std::function<store::CacheState(const std::string &platform)> &state);

/// A kernel of a profiled run of a network, as `lathe profile` stored it. Times are means over the fastest quarter of
/// the runs (lab::fastestQuarter), so kernels and overhead add up to the whole.
struct ProfiledKernel {
  std::string name, kind; // such as "conv_3", "kernel"
  std::vector<std::string> nodes;
  double seconds = 0;
};
struct Profile {
  std::string experiment; // uuid of the profile's experiment
  std::vector<ProfiledKernel> kernels;
  double seconds = 0, overhead = 0; // time of the whole run; the part of it between kernels
};
/// Returns the last complete profile of a model whose text begins with `model`, on `platform` with `threads` threads;
/// nothing if there is none.
std::optional<Profile> lastProfile(store::Store &store, const std::string &model, const std::string &platform,
                                   int threads);

/// One line of an account: kernels that compute the same problems. If a kernel computes several
/// problems, its time cannot be divided between them, so all of them are one line.
struct AccountLine {
  struct Operator {
    std::string problem;
    int64_t count = 0; // number of occurrences in the line's kernels
    // state of the caches in the measurement that is used; empty: not measured
    std::optional<store::CacheState> state;
  };
  std::vector<Operator> operators; // operators whose problems the kernels compute; may be empty
  std::string what;                // description of the kernels if they compute no problem
  // number of occurrences of the line: the largest count of its operators; without operators, the number of kernels
  int64_t count = 0;
  /// Seconds of all operators of the line divided by `count`, for each state of the caches in which all of them were
  /// measured.
  std::map<store::CacheState, double> alone;
  double estimated = 0; // seconds of all measured operators of the line, each in its state, times its count
  double inNetwork = 0; // seconds of the line's kernels in the profiled run
  size_t kernels = 0;   // number of the line's kernels
  double difference() const { return estimated - inNetwork; }
  /// The states of the caches in which the operators of the line were measured, as text: "hot"; "none" for an operator
  /// that was not measured; "cold-constants + hot" if the operators differ.
  std::string states() const;
};

struct Account {
  std::string context;                             // context of the rows used (contextText), without the caches
  store::CacheState state;                         // state of the caches in which the network finds its constants
  double constants = 0, last = 0;                  // bytes of the network's constants; bytes of the last-level cache
  std::vector<AccountLine> lines;                  // problems by time in the network, then kernels without a problem
  double overhead = 0, profiled = 0, measured = 0; // seconds: between kernels; of the profiled run; of the measured run
  double estimated() const;
};

/// Functions through which `accounts` gets a network's times and cache sizes. Each returns nothing for an unknown
/// platform or number of threads.
struct AccountSources {
  std::function<std::optional<Profile>(const std::string &platform, int threads)> profile;
  std::function<std::optional<double>(const std::string &platform, int threads)> measured;
  std::function<double(const std::string &platform)> lastLevelBytes;
};
/// Makes an account of the network `parts` for every setting of `rows`, with the fastest row of `provider` for each
/// part. Leaves out settings without a profile or a measured time. A kernel belongs to the problems whose nodes it
/// computes.
std::vector<Account> accounts(const std::vector<Row> &rows, const std::vector<Part> &parts, const std::string &provider,
                              const AccountSources &sources);

nlohmann::json toJson(const Account &account);

} // namespace lathe::report
