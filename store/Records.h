// What is kept of measuring, as plain values (docs/store.md, and docs/architecture.md, "Words").
//
// A *problem* (an operator with its shapes and types, or a whole model) x a *provider* and its variant x a *setting* is
// a *point*; its timed repetitions are *samples*, in rounds; points measured together are an *experiment* on a
// *platform*. A *tuning record* is what is known of one schedule for one task.
//
// Times of the clock on the wall are text, UTC, as timeNow() writes them.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::store {

struct CacheLevel {
  std::string name; // "L1"
  int64_t bytes = 0;
  int sharedBy = 1; // hardware threads
};

/// A machine with its system and the software that measured. Empty strings and zeros where the system does not tell.
struct Platform {
  std::string cpu, architecture; // "AMD EPYC 9755", "x86_64"
  std::vector<std::string> features;
  std::vector<CacheLevel> caches;
  int cores = 0, hardwareThreads = 0;
  int64_t memoryBytes = 0;
  std::string governor, boost; // "performance"; "on" or "off"
  std::string hypervisor;      // "" on bare metal
  bool virtualized = false;
  std::string kernel, compiler;                 // "Linux 6.1.0", "Clang 19.1.4"
  std::map<std::string, std::string> libraries; // name -> version

  /// Of all of it: equal platforms are one.
  std::string key() const;
};

enum class ExperimentKind { ops, bench, compare, profile, segments, tune };
std::string_view name(ExperimentKind kind);

enum class PointStatus {
  passed,        // the output is right; timed unless only checked
  failed,        // a wrong output, or an error it reported: no time
  mistrusted,    // agreement means little (the right output is constant), or nobody has checked
  unimplemented, // declined, with its reason
  sameAs,        // an earlier point of the same provider runs this very implementation; `reason` names it
  crashed,       // ended, by a signal or by itself, or wrote garbage
  timedOut,
  memoryExceeded
};
std::string_view name(PointStatus status); // "same_as", "timed_out", ...

enum class CacheState {
  hot,          // as the run before left them
  cold,         // of everything
  coldConstants // of operands known before the run, everything else hot
};
std::string_view name(CacheState state); // "cold-constants"

/// The value called `text`; throws Error with the names there are.
ExperimentKind experimentKind(std::string_view text);
PointStatus pointStatus(std::string_view text);
CacheState cacheState(std::string_view text);

/// Processors that others kept busy meanwhile, on average; none where the system does not tell.
struct Disturbance {
  std::optional<double> otherProcessors;
  std::optional<double> stolenProcessors; // of those: by other guests of the host
};

struct Experiment {
  std::string uuid; // made by Store::addExperiment where empty
  ExperimentKind kind = ExperimentKind::ops;
  std::string command;           // as typed, quoted for a shell
  std::string version, build;    // of lathe; `build` tells two builds of a version apart
  std::string platform;          // its key
  nlohmann::json settings = {};  // an object: what decides how every point is measured, not which points are
  std::string started, finished; // `finished` is empty while it is running, or when it was ended from outside
  Disturbance disturbance;       // of all of it

  /// What two runs of the same command share: kind, settings, platform, version and build.
  std::string identity() const;
};

struct Problem {
  std::string op;             // "conv2d"; "model" for whole models
  std::string text;           // canonical: equal problems have equal texts
  nlohmann::json detail = {}; // an object: the same for programs
  std::string key() const;    // of operator and text
};

struct Setting {
  int threads = 1;
  int64_t batch = 0;                // 0: the problem says it
  std::string type = "f32", layout; // layout "": the provider chooses
  std::string schedule;             // "": the provider's own choice
  CacheState cache = CacheState::hot;
  nlohmann::json extra = {}; // an object
  std::string key() const;
};

/// One timed repetition.
struct Sample {
  int64_t wallNs = 0;
  // None where it was not counted.
  std::optional<int64_t> cpuNs, cycles, instructions, cacheMisses, frequencyKhz;
  bool operator==(const Sample &) const = default;
};

/// The mean of a figure over the samples that have it; none where none has.
std::optional<double> meanOf(std::span<const std::vector<Sample>> rounds, std::optional<int64_t> Sample::*counter);

struct Point {
  std::string experiment; // uuid
  Problem problem;
  std::string provider, variant;
  Setting setting;
  std::string measured; // when; Store::addPoint fills it in where empty
  PointStatus status = PointStatus::failed;
  std::string reason;                              // of every status but passed
  std::optional<double> relativeL2, maxDifference; // against the reference; not finite is none
  std::string implementation, providerVersion;
  std::string repro; // a command that measures this point again
  std::optional<double> prepareSeconds;
  std::optional<double> callSeconds; // what a call of the provider takes that does next to nothing
  Disturbance disturbance;
  std::vector<std::vector<Sample>> rounds; // none of them empty; only where the status has a time
  /// How many of the rounds each start of the measured process made, in order; empty when there was one start.
  std::vector<size_t> starts;

  /// Of experiment, problem, provider, variant and setting: what the point is, not what came out.
  std::string key() const;
  size_t sampleCount() const;
};

struct TuningRecord {
  std::string platform; // key
  std::string task;     // versioned canonical text
  std::string schedule; // text, "direct/1 px=14 oc=2"
  PointStatus status = PointStatus::passed;
  std::string reason;
  std::optional<double> seconds; // of one run; only where passed
  std::string measured;
};

// As JSON, every field under its own name. Reading throws Error for what is missing, of another type or senseless
// (negative times, unknown names, an empty round).
nlohmann::json toJson(const Platform &platform);
Platform platformFromJson(const nlohmann::json &document);
nlohmann::json toJson(const Experiment &experiment);
Experiment experimentFromJson(const nlohmann::json &document);
nlohmann::json toJson(const Setting &setting);
Setting settingFromJson(const nlohmann::json &document);
nlohmann::json toJson(const Point &point); // with its samples
Point pointFromJson(const nlohmann::json &document);
nlohmann::json toJson(const TuningRecord &record);
TuningRecord tuningRecordFromJson(const nlohmann::json &document);

/// Rounds of each start: a list of integers from 1. Throws Error for anything else.
std::vector<size_t> startsFromJson(const nlohmann::json &list);

// Throw Error for what must not be kept. Measuring and reading (archives, store files) both go through them.
void check(const Experiment &experiment);
/// `withSamples`: false where the samples were not read.
void check(const Point &point, bool withSamples = true);
void check(const TuningRecord &record);

} // namespace lathe::store
