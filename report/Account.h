// Where a network's time goes, operator by operator: what each takes alone beside what it takes in a profiled run, and
// what the run does besides. The differences of all lines add up to the estimate's.
#pragma once

#include "report/Network.h"

#include <map>

namespace lathe::report {

/// How a network finds the constants of its operators: coldConstants where they are more than the last-level cache
/// holds, since the same ones are used again only after all the others; hot else. Follows from sizes, not from times.
store::CacheState networkState(double constantBytes, double lastLevelBytes);

/// The state to take an operator's time in: the network's where the operator has constants, hot where it has none.
store::CacheState operatorState(const std::string &problem, store::CacheState network);

/// Bytes of the constants of all parts, each as often as it occurs.
double constantBytes(const std::vector<Part> &parts);
/// Of the outermost cache; 0 where none is known.
double lastLevelBytes(const store::Platform &platform);

/// Copies of those rows whose caches are in the state that a network of these parts finds them in; their settings say
/// "caches as in the network" beside. `state` hands out the network's on a platform.
std::vector<Row> rowsAsInNetwork(const std::vector<Row> &rows,
                                 const std::function<store::CacheState(const std::string &platform)> &state);

/// A run of a network, kernel by kernel, as `lathe profile` kept it: means over the middle half of its runs by their
/// whole time, so that kernels and overhead add up to the whole.
struct ProfiledKernel {
  std::string name, kind; // "conv_3", "kernel"
  std::vector<std::string> nodes;
  double seconds = 0;
};
struct Profile {
  std::string experiment; // uuid
  std::vector<ProfiledKernel> kernels;
  double seconds = 0, overhead = 0; // of the whole run; between its kernels
};
/// Of the last profile of a model whose text begins with `model`, on a platform and as many threads, not cut short;
/// none where there is none.
std::optional<Profile> lastProfile(store::Store &store, const std::string &model, const std::string &platform,
                                   int threads);

/// What kernels compute that compute the same problems. Where that is several in one kernel, nobody knows whose its
/// time is: they are one line.
struct AccountLine {
  struct Operator {
    std::string problem;
    int64_t count = 0;                      // in these kernels
    std::optional<store::CacheState> state; // that counts, where it was measured
  };
  std::vector<Operator> operators;           // none: no problem says it
  std::string what;                          // then: what it is
  int64_t count = 0;                         // of the operator that occurs most often; else of kernels
  std::map<store::CacheState, double> alone; // seconds of all operators, over `count`; where all of them were measured
  double estimated = 0;                      // seconds: of the operators measured, each in its state, count times
  double inNetwork = 0;                      // seconds of its kernels in the profiled run, together
  size_t kernels = 0;                        // how many those are
  double difference() const { return estimated - inNetwork; }
  /// The states that count: "hot", "none" of an operator that was not measured, "cold-constants + hot" where they
  /// differ.
  std::string states() const;
};

struct Account {
  std::string context;            // of the rows, without caches
  store::CacheState state;        // of the network's constants
  double constants = 0, last = 0; // bytes: of the constants, of the last-level cache
  std::vector<AccountLine> lines; // problems, the longest in the network first; then what no problem says
  double overhead = 0, profiled = 0, measured = 0; // seconds: between kernels, of the profiled run, of the run measured
  double estimated() const;
};

/// `provider`'s fastest column of every part under the settings that `rows` have, beside the profile and the whole that
/// the functions hand out for a platform and a number of threads; settings without them are left out. A kernel belongs
/// to the problems whose nodes it computes.
struct AccountSources {
  std::function<std::optional<Profile>(const std::string &platform, int threads)> profile;
  std::function<std::optional<double>(const std::string &platform, int threads)> measured;
  std::function<double(const std::string &platform)> lastLevelBytes;
};
std::vector<Account> accounts(const std::vector<Row> &rows, const std::vector<Part> &parts, const std::string &provider,
                              const AccountSources &sources);

nlohmann::json toJson(const Account &account);

} // namespace lathe::report
