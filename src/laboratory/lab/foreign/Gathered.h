// Gathers the measurements in a file of another program by point, and emits them as records of the store.
#pragma once

#include "lab/foreign/Readers.h"

#include <map>
#include <unordered_map>

namespace lathe::lab {

/// A point in a file of another program with its samples, compact enough for millions of samples.
struct Gathered {
  store::Point point; // the point, without its rounds
  std::string run;    // name of the run, if the file has several runs, each of which becomes an experiment
  std::vector<int64_t> wallNs;
  std::vector<uint32_t> rounds; // for each element of wallNs, the number of its round; ascending
  // samples with hardware counts, used instead of wallNs; each is a separate round
  std::vector<store::Sample> counted;
  std::map<std::string, size_t> figureCounts; // by name of the figure: number of values of which it is the mean
  double exactNanoseconds = 0; // mean of those times that have fractions of a nanosecond; `exact` is their number
  size_t exact = 0;
};

class ForeignPoints {
public:
  /// `path`: the file of another program that is read; `format`: the name of its format in Foreign.h.
  ForeignPoints(std::string path, std::string format);

  store::Platform platform;
  nlohmann::json settings; // settings of the experiment
  std::string started;     // start of the experiment; at first the time of the file's last change

  /// Adds to the text that identifies the experiment. Has no effect after the first measurement was added.
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
  /// Calls `change` for every point gathered so far.
  template <class Change> void each(Change change) {
    for (Gathered &gathered : points)
      change(gathered);
  }
  /// Adds a sample to a point, unless the point already has the maximum number. A sample with hardware counts is a
  /// separate round.
  void addSample(Gathered &to, int64_t nanoseconds, uint32_t round);
  void addSample(Gathered &to, const store::Sample &counted);

  /// Calls `visit` for the platform, the experiments and the points that were gathered. Throws Error if there is no
  /// point.
  void emit(const RecordVisitor &visit, std::vector<std::string> &notes);

private:
  size_t add(store::Point point, const std::string &run);
  store::Experiment experimentOf(const std::string &run) const;

  std::string path, format, identity;
  std::vector<Gathered> points;
  std::unordered_map<std::string, size_t> places, byContent;
  size_t dropped = 0; // number of samples beyond the maximum, which were dropped
};

/// Checks a text in a file of another program and replaces characters that a terminal or a page must not interpret.
/// Throws Error for more than 64 KiB.
std::string foreignText(const std::string &text, const char *what);
/// Checks a text like the function above; the text is a member of a JSON document. Throws Error if the member is not a
/// text.
std::string foreignText(const nlohmann::json &object, const char *key);
/// Converts a time in a file of another program to nanoseconds. Throws Error for a value that is negative, not finite
/// or longer than 1e9 s.
int64_t foreignNanoseconds(double value, double nanosecondsPerUnit, const char *what);
/// Converts a time to nanoseconds (foreignNanoseconds) that is a member of a JSON document. The member must be a
/// number.
int64_t foreignNanoseconds(const nlohmann::json &object, const char *key, double nanosecondsPerUnit);

/// A setting for the store that leaves the number of threads open.
store::Setting unstatedThreads();

} // namespace lathe::lab
