// The records of measurements, as plain values (docs/store.md, and docs/architecture.md, "Words").
//
// A *problem* (an operator with its shapes and types, or a whole model) x a *provider* and its *variant* x a *setting*
// is a *point*; its timed repetitions are *samples*, in rounds; points measured together are an *experiment* on a
// *platform*. A *tuning record* contains the measurements of one schedule for one *task*, the work of a kernel.
//
// Dates with times are UTC texts in the form of timeNow().
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
  std::string name; // name of the cache level, such as "L1"
  int64_t bytes = 0;
  int sharedBy = 1; // number of hardware threads that share the cache
};

/// A machine, its operating system and the software that measured. A value that the system does not report is empty or
/// zero.
struct Platform {
  std::string cpu, architecture; // names such as "AMD EPYC 9755" and "x86_64"
  std::vector<std::string> features;
  std::vector<CacheLevel> caches;
  int cores = 0, hardwareThreads = 0;
  int64_t memoryBytes = 0;
  std::string governor, boost; // "performance"; "on" or "off"
  std::string hypervisor;      // hypervisor under which the system runs; "" on bare metal
  bool virtualized = false;
  std::string kernel, compiler;                 // versions such as "Linux 6.1.0" and "Clang 19.1.4"
  std::map<std::string, std::string> libraries; // versions of linked libraries, by name

  /// Key of a platform: a hash of all its fields, so equal platforms have equal keys.
  std::string key() const;
};

enum class ExperimentKind {
  ops,
  bench,
  compare,
  profile,
  segments,
  tune,
  evaluate,
  quantize,
  corun,
  imported // measured by another program; read from that program's file (lab/foreign/Foreign.h)
};
std::string_view name(ExperimentKind kind);
/// The names of all kinds of experiments, in the order of the enumerators.
std::span<const std::string_view> experimentKindNames();

enum class PointStatus {
  passed,        // the output is right; the point has a time unless it was only checked
  failed,        // the output is wrong, or the provider reported an error; the point has no time
  mistrusted,    // the output is right but constant (it does not depend on the inputs), or it was not checked
  unimplemented, // the provider declined to run the problem; see `reason`
  sameAs,        // the provider runs the same implementation in an earlier point, which `reason` names
  crashed,       // the process of the provider exited, was ended by a signal, or wrote garbage
  timedOut,
  memoryExceeded,
  notVerified // the point was measured by another program; its output was not compared with a reference here
};
std::string_view name(PointStatus status); // name of the status in JSON and tables: "same_as", "timed_out", ...
/// The status of a point as tables and pages show it: "not verified here" for notVerified, otherwise `name`.
std::string_view shownName(PointStatus status);
/// True for statuses of points that may have timed samples. A point with a wrong output has no time.
bool mayHaveTime(PointStatus status);
/// Numbers of points by status as text: "1 failed, 2 crashed"; "" if there are none.
std::string countsText(const std::map<PointStatus, size_t> &counts);

enum class CacheState {
  hot,          // the caches are as the previous run left them
  cold,         // all memory of the provider is evicted from the caches before each run
  coldConstants // constant operands are evicted from the caches before each run, everything else stays
};
std::string_view name(CacheState state); // name of the state as in --cache, such as "cold-constants"

/// The enumerator with the name `text`. These functions throw Error with the valid names for any other text.
ExperimentKind experimentKind(std::string_view text);
PointStatus pointStatus(std::string_view text);
CacheState cacheState(std::string_view text);

/// Average number of processors that other programs used during a measurement; empty if the system
/// does not report it.
struct Disturbance {
  std::optional<double> otherProcessors;
  std::optional<double> stolenProcessors; // part of otherProcessors that other virtual machines of the host used
};

struct Experiment {
  std::string uuid; // unique id; if empty, Store::addExperiment creates one
  ExperimentKind kind = ExperimentKind::ops;
  std::string command;           // command line as typed, quoted for a shell
  std::string version, build;    // version and build of lathe; `build` distinguishes builds of one version
  std::string revision;          // commit of lathe's sources, with + at the end if they were changed; "" if unknown
  std::string platform;          // key of the platform that measures the experiment
  nlohmann::json settings = {};  // a JSON object: how points are measured; it does not say which points
  nlohmann::json detail = {};    // a JSON object: what was measured (docs/store.md)
  std::string started, finished; // `finished` is empty while the experiment runs, or if it was interrupted
  Disturbance disturbance;       // average disturbance over the whole experiment

  /// The identity of an experiment: a hash of kind, settings, platform, version and build. It is equal for two
  /// experiments that measure points in the same way, with the same build, on the same machine.
  std::string identity() const;

  /// Number of points that the experiment has when its command has measured everything; empty if the command did not
  /// know the number.
  std::optional<size_t> plannedPoints() const;
  void planPoints(size_t count);
};

/// Moves the graph of a profile experiment from its settings to its detail. Stores and archives of schema version 7 or
/// older have the graph in the settings.
void moveGraph(Experiment &experiment);

struct Problem {
  std::string op;             // name of the operator, such as "conv2d"; "model" for whole models
  std::string text;           // canonical text of the problem: equal problems have equal texts
  nlohmann::json detail = {}; // a JSON object: the same problem as data
  std::string key() const;    // hash of the operator and the text of the problem
};

/// What runs without end beside the measured work, on other processors. Empty: the measured work runs alone.
struct Company {
  std::string problem;  // canonical text of the problem that runs beside; "": nothing runs beside
  std::string provider; // provider with its variant, and its schedule if one was requested: "lathe:auto"
  int threads = 1;
  std::string place; // which hardware the threads of both sides share: "core", "cache", "socket" or "machine"
  int leastRuns = 0; // runs that must end within the timed runs of every start; with fewer the point is mistrusted
  bool empty() const { return problem.empty(); }
  /// All fields as text, which differs for different company: "beside relu x=64 by lathe:auto on 1 thread, ...".
  std::string str() const;
};

struct Setting {
  int threads = 1;
  int64_t batch = 0;                // batch size; 0: the batch of the problem
  std::string type = "f32", layout; // layout "": the provider chooses the layout
  std::string schedule;             // schedule of the kernel; "": the provider's own choice
  CacheState cache = CacheState::hot;
  nlohmann::json extra = {}; // further settings of the provider, a JSON object
  Company company = {};      // part of the key, except for work that runs alone
  std::string key() const;
};

/// One timed repetition of a point.
struct Sample {
  int64_t wallNs = 0;
  // Hardware counts during the repetition; empty if they were not counted.
  std::optional<int64_t> cpuNs, cycles, instructions, cacheMisses, frequencyKhz;
  bool operator==(const Sample &) const = default;
};

/// Mean of a hardware counter over those samples of a point that have it; empty if no sample has it.
std::optional<double> meanOf(std::span<const std::vector<Sample>> rounds, std::optional<int64_t> Sample::*counter);

struct Point {
  std::string experiment; // uuid of the experiment
  Problem problem;
  std::string provider, variant;
  Setting setting;
  std::string measured; // date and time in UTC, "2026-01-02T00:00:00.000000Z"; Store::addPoint fills it in if empty
  PointStatus status = PointStatus::failed;
  std::string reason;                              // reason for a status other than passed
  std::optional<double> relativeL2, maxDifference; // errors against the reference; empty if not finite
  std::map<std::string, double> figures;           // finite measured numbers other than times, by name: "top1"
  /// What the system stated of the resources that the measurement held, by name; empty: none was held.
  std::map<std::string, std::string> held;
  std::string implementation, providerVersion;
  std::string repro; // command line that measures this point again
  std::optional<double> prepareSeconds;
  std::optional<double> callSeconds; // seconds of a call of the provider that computes only one element
  Disturbance disturbance;
  // timed samples by round; no round is empty; only for statuses with a time
  std::vector<std::vector<Sample>> rounds;
  /// Number of rounds of each start of the measured process, in order; empty for a single start.
  std::vector<size_t> starts;

  /// Key of a point: a hash of experiment, problem, provider, variant and setting, without the results.
  std::string key() const;
  size_t sampleCount() const;
};

/// The work of a kernel that is tuned. A store has each task once, for all tuning records of the task.
struct TuningTask {
  std::string text;   // versioned canonical text (codegen/Task.h), which names CPU, features, caches and threads
  std::string family; // kernel family; "" if unknown
  std::string kernel; // text of a module with the kernel function at kernels level, without weights; "" if unknown
};

/// The text of the task of a kernel that runs in company. Records of the kernel in company therefore have other keys
/// than records of the kernel alone. Without company the text of the task itself.
std::string taskInCompany(const std::string &task, const Company &company);
/// The same, with the company as Company::str; "": the kernel runs alone.
std::string taskInCompany(const std::string &task, const std::string &company);
/// The inverse: the task of a kernel whose records have the text `text` in this company. Nothing for the text of a
/// kernel in other company, or, with company "", in any.
std::optional<std::string> taskWithoutCompany(const std::string &text, const std::string &company);
/// True for the text of a task in company.
bool isInCompany(const std::string &text);

/// The result of comparing a schedule with the default schedule of its task in turns.
enum class TuningVerdict {
  open,   // the schedules were not compared in turns
  faster, // the schedule is significantly faster than the default, so compilations use it
  noGain  // the schedule is not faster, so compilations use the default
};
std::string_view name(TuningVerdict verdict); // name of the verdict, such as "no_gain"
/// The verdict with the name `text`. Throws Error with the valid names for any other text.
TuningVerdict tuningVerdict(std::string_view text);

/// The result of one measurement of a schedule: by a trial of a search, a comparison in turns, or a run of `ops
/// bench`.
struct TuningOutcome {
  PointStatus status = PointStatus::passed;
  std::string reason;            // reason for a status other than passed
  std::optional<double> seconds; // seconds of one run, for comparing schedules; only if passed or notVerified
  std::vector<int64_t> samples;  // time of every timed run in ns, in order; only with `seconds`
  TuningVerdict verdict = TuningVerdict::open;
  std::string searcher; // searcher that proposed the schedule; "": `ops bench` measured the schedule
  std::optional<double> buildSeconds, runSeconds; // build: time for compiling; run: time for checking and timing
  std::string version, build;                     // version and build of lathe; "" if unknown
  std::string experiment;                         // uuid of an experiment on the same platform; "": none
  std::string measured; // date and time of the measurement; if empty, Store::addTuning sets it
  Disturbance disturbance;
};

/// The measurements of one schedule for a task on a platform. In a new record, its own fields are the only outcome.
/// The store merges the records of one schedule (store/Outcomes.h): then the fields of TuningOutcome summarise
/// `outcomes`.
struct TuningRecord : TuningOutcome {
  std::string platform; // key of the platform that measured the schedule
  std::string task;     // TuningTask::text
  std::string schedule; // text of the schedule with the version of its algorithm, such as "direct/1 px=14 oc=2"
  // all measurements, oldest first; empty if there is only one, in this record's own fields
  std::vector<TuningOutcome> outcomes;
};

// Conversions of records to and from JSON. The keys are the names of the fields in snake_case; a point has
// "operator", "problem" and "detail" for its Problem, and "samples" for its rounds. Reading throws Error for a
// missing field, a wrong type or an impossible value (negative time, unknown name, empty round).
nlohmann::json toJson(const Platform &platform);
Platform platformFromJson(const nlohmann::json &document);
nlohmann::json toJson(const Experiment &experiment);
Experiment experimentFromJson(const nlohmann::json &document);
nlohmann::json toJson(const Setting &setting);
Setting settingFromJson(const nlohmann::json &document);
nlohmann::json toJson(const Point &point); // JSON of a point with its samples
Point pointFromJson(const nlohmann::json &document);
nlohmann::json toJson(const TuningTask &task);
TuningTask tuningTaskFromJson(const nlohmann::json &document);
nlohmann::json
toJson(const TuningRecord &record); // has the task's text; if there are outcomes, they contain the samples
TuningRecord tuningRecordFromJson(const nlohmann::json &document);

// Throw Error if a record is invalid. Called for measured records and for records read from archives and store files.
void check(const Experiment &experiment);
/// Throws Error if a point is invalid. `withSamples`: false if the samples were not read and so cannot be checked.
void check(const Point &point, bool withSamples = true);
void check(const TuningTask &task);
void check(const TuningRecord &record);

} // namespace lathe::store
