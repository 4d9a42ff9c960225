// Gathers the measurements of a foreign file by point, and gives them as records of the store.
#pragma once

#include "lab/foreign/Readers.h"

#include <map>
#include <unordered_map>

namespace lathe::lab {

/// A point with its samples in a form that millions of them fit into memory.
struct Gathered {
  store::Point point; // without rounds
  std::string run;    // of the file, where it has several: an experiment each
  std::vector<int64_t> wallNs;
  std::vector<uint32_t> rounds;               // of each wallNs, not descending
  std::vector<store::Sample> counted;         // instead of wallNs: a round each
  std::map<std::string, size_t> figureCounts; // values in the mean of each figure, where figures are means
  double exactNanoseconds = 0;                // mean of `exact` times with parts of a nanosecond
  size_t exact = 0;
};

class ForeignPoints {
public:
  /// `format` is the name in Foreign.h.
  ForeignPoints(std::string path, std::string format);

  store::Platform platform;
  nlohmann::json settings; // of the experiment
  std::string started;     // at first the time of the file's last change

  /// Adds to the text that identifies the experiment. Has no effect after the first measurement.
  void identify(std::string_view text);
  void identify(const nlohmann::json &part);

  /// Returns the point of `key` in `run`, which `make` makes when the key is new. Keys whose points are
  /// equal (store::Point::key) share one. The status is notVerified until the caller changes it. Throws
  /// Error for too many points.
  template <class Make> Gathered &at(const std::string &key, Make make, const std::string &run = "") {
    std::string whole = run + "\n" + key;
    auto place = places.find(whole);
    if (place == places.end())
      place = places.emplace(whole, add(make(), run)).first;
    return points[place->second];
  }
  /// Calls `change` for every point.
  template <class Change> void each(Change change) {
    for (Gathered &gathered : points)
      change(gathered);
  }
  /// Add a sample, unless the point has as many as are kept. A counted sample is a round of its own.
  void addSample(Gathered &to, int64_t nanoseconds, uint32_t round);
  void addSample(Gathered &to, const store::Sample &counted);

  /// Calls `visit` for platform, experiments and points. Throws Error if there is no point.
  void emit(const RecordVisitor &visit, std::vector<std::string> &notes);

private:
  size_t add(store::Point point, const std::string &run);
  store::Experiment experimentOf(const std::string &run) const;

  std::string path, format, identity;
  std::vector<Gathered> points;
  std::unordered_map<std::string, size_t> places, byContent;
  size_t dropped = 0; // samples
};

/// Checks a text of a file and replaces what a terminal or a page must not interpret. Throws Error for
/// more than 64 KiB.
std::string foreignText(const std::string &text, const char *what);
/// The same of a value of a document, which must be a text.
std::string foreignText(const nlohmann::json &object, const char *key);
/// Returns a time in nanoseconds. Throws Error for a value that is negative, not finite or longer than
/// 1e9 s.
int64_t foreignNanoseconds(double value, double nanosecondsPerUnit, const char *what);
/// The same of a member of a document, which must be a number.
int64_t foreignNanoseconds(const nlohmann::json &object, const char *key, double nanosecondsPerUnit);

/// A setting that does not say the number of threads.
store::Setting unstatedThreads();

} // namespace lathe::lab
