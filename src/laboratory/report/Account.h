// The account of a network: each operator's time alone and in a profiled run of the network, and the time outside
// operators. The differences of all lines add up to the difference between estimate and measured time.
#pragma once

#include "report/Network.h"

#include <map>

namespace lathe::report {

/// State of the caches in which a network finds the constants of its operators: coldConstants if all constants together
/// exceed the last-level cache, because each constant is used again only after all others; otherwise hot. Depends on
/// sizes, not on times.
store::CacheState networkState(double constantBytes, double lastLevelBytes);

/// State of the caches in which an operator's time was measured or must be measured: `network` if the operator has
/// constants, otherwise hot.
store::CacheState operatorState(const std::string &problem, store::CacheState network);

/// Bytes of the constants of all parts; a part counts as often as it occurs.
double constantBytes(const std::vector<Part> &parts);
/// Bytes of the outermost cache of a platform's processor; 0 if unknown.
double lastLevelBytes(const store::Platform &platform);

/// Returns copies of the rows that were measured in the state of the caches that a network of these parts has
/// (operatorState), with settings marked "caches as in the network". `state` returns the network's state on a platform.
std::vector<Row> rowsAsInNetwork(const std::vector<Row> &rows,
                                 const std::function<store::CacheState(const std::string &platform)> &state);

/// A kernel of a profiled run of a network, as `lathe profile` stored it. Times are means over the
/// runs that count (lab::fastestQuarter), so kernels and overhead add up to the whole.
struct ProfiledKernel {
  std::string name, kind; // "conv_3", "kernel"
  std::vector<std::string> nodes;
  double seconds = 0;
};
struct Profile {
  std::string experiment; // uuid of the experiment
  std::vector<ProfiledKernel> kernels;
  double seconds = 0, overhead = 0; // time of the whole run; part of it between kernels
};
/// Returns the last complete profile of a model whose text begins with `model`, on this platform
/// with this number of threads; nothing if there is none.
std::optional<Profile> lastProfile(store::Store &store, const std::string &model, const std::string &platform,
                                   int threads);

/// One line of an account: kernels that compute the same problems. If a kernel computes several
/// problems, its time cannot be divided between them, so all of them are one line.
struct AccountLine {
  struct Operator {
    std::string problem;
    int64_t count = 0;                      // occurrences in these kernels
    std::optional<store::CacheState> state; // caches in the measurement that is used; empty: not measured
  };
  std::vector<Operator> operators; // empty: the kernels compute no problem
  std::string what;                // description of kernels without a problem
  int64_t count = 0; // how often the line occurs: largest count of its operators; number of kernels if it has none
  /// Seconds of all operators divided by `count`, for each state of the caches in which all of them were measured.
  std::map<store::CacheState, double> alone;
  double estimated = 0; // seconds of all measured operators, each in its state, times its count
  double inNetwork = 0; // seconds of the kernels in the profiled run
  size_t kernels = 0;   // number of the kernels
  double difference() const { return estimated - inNetwork; }
  /// The states of the caches of a line's operators as text: "hot"; "none" for an operator that was not measured;
  /// "cold-constants + hot" if the operators differ.
  std::string states() const;
};

struct Account {
  std::string context;                             // context of the rows, without caches
  store::CacheState state;                         // state of the network's constants
  double constants = 0, last = 0;                  // bytes of the network's constants; bytes of the last-level cache
  std::vector<AccountLine> lines;                  // problems by time in the network, then kernels without a problem
  double overhead = 0, profiled = 0, measured = 0; // seconds: between kernels; of the profiled run; of the measured run
  double estimated() const;
};

/// Where accounts find a network's times. Each function returns nothing for an unknown platform or number of threads.
struct AccountSources {
  std::function<std::optional<Profile>(const std::string &platform, int threads)> profile;
  std::function<std::optional<double>(const std::string &platform, int threads)> measured;
  std::function<double(const std::string &platform)> lastLevelBytes;
};
/// Accounts of `parts` for every setting of `rows`, with the fastest column of `provider` for each part. Leaves out
/// settings without a profile or a measured time. A kernel belongs to the problems whose nodes it computes.
std::vector<Account> accounts(const std::vector<Row> &rows, const std::vector<Part> &parts, const std::string &provider,
                              const AccountSources &sources);

nlohmann::json toJson(const Account &account);

} // namespace lathe::report
