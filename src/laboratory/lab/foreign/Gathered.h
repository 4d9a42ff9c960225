// Gathers the measurements of a foreign file by point, and emits them as records of the store.
#pragma once

#include "lab/foreign/Readers.h"

#include <map>
#include <unordered_map>

namespace lathe::lab {

/// A point with its samples, compact enough for millions of samples.
struct Gathered {
  store::Point point; // without rounds
  std::string run;    // of the file, if it has several: one experiment each
  std::vector<int64_t> wallNs;
  std::vector<uint32_t> rounds;               // round of each wallNs, ascending
  std::vector<store::Sample> counted;         // instead of wallNs, with one round each
  std::map<std::string, size_t> figureCounts; // values in the mean of each figure
  double exactNanoseconds = 0;                // mean of `exact` times with fractions of a nanosecond
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

  /// Returns the point of `key` in `run`; `make` creates it if the key is new. Keys whose points are equal
  /// (store::Point::key) share one. The status is notVerified until the caller changes it. Throws Error for too many
  /// points.
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
  /// Adds a sample, unless the point already has the maximum number. A counted sample is a separate round.
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

/// Checks a text of a file and replaces characters that a terminal or a page must not interpret. Throws Error for more
/// than 64 KiB.
std::string foreignText(const std::string &text, const char *what);
/// Like foreignText, for a member of a document, which must be a text.
std::string foreignText(const nlohmann::json &object, const char *key);
/// Returns a time in nanoseconds. Throws Error for a value that is negative, not finite or longer than
/// 1e9 s.
int64_t foreignNanoseconds(double value, double nanosecondsPerUnit, const char *what);
/// Like foreignNanoseconds, for a member of a document, which must be a number.
int64_t foreignNanoseconds(const nlohmann::json &object, const char *key, double nanosecondsPerUnit);

/// A setting that does not state the number of threads.
store::Setting unstatedThreads();

} // namespace lathe::lab
