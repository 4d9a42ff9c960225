// The fields of every record, each declared once: its key in JSON, which is also its column in SQL unless another one
// is named, and its member. JSON (store/RecordsJson.cpp) and rows (store/FieldRows.h) visit them. A new field needs a
// member in store/Records.h, a line here and a step of the schema.
//
// A visitor has
//   visit(key, member[, least])          a field that every record has; `least` is the least value of an integer
//   visit.known(key, member[, column])   JSON has it if it is not empty (isKnown); rows have the empty value
//   visit.ended(key, member)             like known; rows have NULL for an empty text
//   visit.large(key, member)             like known; queries read it only on request
//   visit.link(key, member, table, column[, optional])   the key of a row of another table
//   visit.part(member)                   a record within the record
#pragma once

#include "store/Records.h"

#include <concepts>

namespace lathe::store {

template <class Record, class Plain>
concept IsRecord = std::same_as<std::remove_const_t<Record>, Plain>;

void visitFields(IsRecord<CacheLevel> auto &c, auto &&visit) {
  visit("name", c.name);
  visit("bytes", c.bytes);
  visit("shared_by_threads", c.sharedBy);
}

void visitFields(IsRecord<Platform> auto &p, auto &&visit) {
  visit("cpu", p.cpu);
  visit("architecture", p.architecture);
  visit("features", p.features);
  visit("caches", p.caches);
  visit("cores", p.cores);
  visit("hardware_threads", p.hardwareThreads);
  visit("memory_bytes", p.memoryBytes);
  visit("governor", p.governor);
  visit("boost", p.boost);
  visit("hypervisor", p.hypervisor);
  visit("virtualized", p.virtualized);
  visit("kernel", p.kernel);
  visit("compiler", p.compiler);
  visit("libraries", p.libraries);
}

void visitFields(IsRecord<Disturbance> auto &d, auto &&visit) {
  visit.known("other_processors", d.otherProcessors);
  visit.known("stolen_processors", d.stolenProcessors);
}

void visitFields(IsRecord<Experiment> auto &e, auto &&visit) {
  visit("uuid", e.uuid);
  visit("kind", e.kind);
  visit("command", e.command);
  visit("version", e.version);
  visit("build", e.build);
  visit.link("platform", e.platform, "platform", "key");
  visit("settings", e.settings);
  visit("started", e.started);
  visit.ended("finished", e.finished);
  visitFields(e.disturbance, visit);
  visit.known("revision", e.revision);
  visit.large("detail", e.detail);
}

void visitFields(IsRecord<Problem> auto &p, auto &&visit) {
  visit("operator", p.op);
  visit("text", p.text);
  visit("detail", p.detail);
}

void visitFields(IsRecord<Company> auto &c, auto &&visit) {
  visit("problem", c.problem);
  visit("provider", c.provider);
  visit("threads", c.threads, 1);
  visit("place", c.place);
  visit("least_runs", c.leastRuns);
}

void visitFields(IsRecord<Setting> auto &s, auto &&visit) {
  visit("threads", s.threads, 1);
  visit("batch", s.batch);
  visit("type", s.type);
  visit("layout", s.layout);
  visit("schedule", s.schedule);
  visit("cache", s.cache);
  visit("extra", s.extra);
  visit.known("company", s.company);
}

/// The hardware counters of a sample, in the order in which they are written.
struct SampleCounter {
  const char *key;
  std::optional<int64_t> Sample::*member;
};
inline constexpr SampleCounter sampleCounters[] = {{"cpu_ns", &Sample::cpuNs},
                                                   {"cycles", &Sample::cycles},
                                                   {"instructions", &Sample::instructions},
                                                   {"cache_misses", &Sample::cacheMisses},
                                                   {"frequency_khz", &Sample::frequencyKhz}};

/// All fields of a point except its samples.
void visitFields(IsRecord<Point> auto &p, auto &&visit) {
  visit.link("experiment", p.experiment, "experiment", "uuid");
  visit.part(p.problem);
  visit("provider", p.provider);
  visit("variant", p.variant);
  visit.part(p.setting);
  visit("measured", p.measured);
  visit("status", p.status);
  visit("reason", p.reason);
  visit.known("relative_l2", p.relativeL2);
  visit.known("max_difference", p.maxDifference);
  visit("implementation", p.implementation);
  visit("provider_version", p.providerVersion);
  visit("repro", p.repro);
  visit.known("prepare_seconds", p.prepareSeconds);
  visitFields(p.disturbance, visit);
  visit.known("starts", p.starts);
  visit.known("call_seconds", p.callSeconds);
  visit.known("figures", p.figures);
  visit.known("held", p.held);
}

void visitFields(IsRecord<TuningTask> auto &t, auto &&visit) {
  visit("text", t.text);
  visit.known("family", t.family);
  visit.ended("kernel", t.kernel);
}

void visitFields(IsRecord<TuningOutcome> auto &o, auto &&visit) {
  visit("status", o.status);
  visit("reason", o.reason);
  visit.known("seconds", o.seconds);
  visit.known("samples_ns", o.samples, "samples");
  visit.known("verdict", o.verdict);
  visit.known("searcher", o.searcher);
  visit.known("build_seconds", o.buildSeconds);
  visit.known("run_seconds", o.runSeconds);
  visit.known("version", o.version);
  visit.known("build", o.build);
  visit.link("experiment", o.experiment, "experiment", "uuid", true);
  visit("measured", o.measured);
  visitFields(o.disturbance, visit);
}

void visitFields(IsRecord<TuningRecord> auto &r, auto &&visit) {
  visit.link("platform", r.platform, "platform", "key");
  visit.link("task", r.task, "task", "text");
  visit("schedule", r.schedule);
  visitFields(static_cast<std::conditional_t<std::is_const_v<std::remove_reference_t<decltype(r)>>, const TuningOutcome,
                                             TuningOutcome> &>(r),
              visit);
  visit.known("outcomes", r.outcomes);
}

// The functions below convert the values of record fields to JSON, for archives, `--json`, and columns that
// hold documents.

/// True if JSON has a field with this value. JSON omits an empty value, a number that is not finite, and the
/// verdict `open`.
bool isKnown(const std::optional<double> &value);
inline bool isKnown(TuningVerdict verdict) { return verdict != TuningVerdict::open; }
bool isKnown(const auto &value) { return !value.empty(); }

template <class Enumeration>
concept Named = std::is_enum_v<Enumeration> && requires(Enumeration e) { name(e); };

nlohmann::json asJson(const nlohmann::json &value); // a null value becomes an object without members
nlohmann::json asJson(const Company &company);      // an object without members for no company
nlohmann::json asJson(const std::vector<CacheLevel> &caches);
nlohmann::json asJson(const std::vector<TuningOutcome> &outcomes);
nlohmann::json asJson(const std::optional<double> &value);
nlohmann::json asJson(const Named auto &value) { return std::string(name(value)); }
nlohmann::json asJson(const auto &value) { return value; }

// Convert JSON to the values of record fields: the inverses of asJson. Throw Error or nlohmann::json::exception
// for JSON of another form.
inline void read(std::string_view text, ExperimentKind &value) { value = experimentKind(text); }
inline void read(std::string_view text, PointStatus &value) { value = pointStatus(text); }
inline void read(std::string_view text, CacheState &value) { value = cacheState(text); }
inline void read(std::string_view text, TuningVerdict &value) { value = tuningVerdict(text); }
void read(const nlohmann::json &from, const char *key, int &value, int least);
void read(const nlohmann::json &from, const char *key, int64_t &value); // throws Error for a negative number
void read(const nlohmann::json &from, const char *key, Company &company);
void read(const nlohmann::json &from, const char *key, std::vector<CacheLevel> &caches);
void read(const nlohmann::json &from, const char *key, std::vector<TuningOutcome> &outcomes);
void read(const nlohmann::json &from, const char *key, std::vector<size_t> &starts);
void read(const nlohmann::json &from, const char *key, std::vector<int64_t> &nanoseconds);
void read(const nlohmann::json &from, const char *key, std::map<std::string, double> &figures);
inline void read(const nlohmann::json &from, const char *, nlohmann::json &value) { value = from; }
inline void read(const nlohmann::json &from, const char *, std::optional<double> &value) { value = from.get<double>(); }
void read(const nlohmann::json &from, const char *, Named auto &value) { read(from.get<std::string>(), value); }
void read(const nlohmann::json &from, const char *, auto &value) { from.get_to(value); }

} // namespace lathe::store
