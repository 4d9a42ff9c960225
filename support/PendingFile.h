// A file that appears under its name only when it is complete, or a stream that takes what it is given at once.
//
//   PendingFile file("model.onnx");
//   file.write(bytes);
//   file.commit(); // without it nothing appears
//
// "-" and "/dev/stdout" are the standard output. A device, pipe or socket is written directly: it cannot be replaced. A
// symbolic link to a file stays, the file it names is replaced. Every byte that the system does not take is an Error,
// and a file that was declared with `protectInput` is never replaced.
#pragma once

#include "support/Error.h"

#include <string>
#include <string_view>

namespace lathe {

class PendingFile {
public:
  /// Throws what `check` throws, and Error where the system refuses.
  explicit PendingFile(std::string path);
  /// Removes what was not committed.
  ~PendingFile();
  PendingFile(const PendingFile &) = delete;
  PendingFile &operator=(const PendingFile &) = delete;

  void write(const char *data, size_t size);
  void write(std::string_view bytes) { write(bytes.data(), bytes.size()); }
  /// Returns when the system has taken all bytes; throws Error otherwise.
  void close();
  /// Closes the file and gives it its name.
  void commit();

  /// Throws Error where nothing can be written at `path` or where it is an input: to be called before long work.
  static void check(const std::string &path);
  /// True when `path` is written directly: the standard output, a device, a pipe.
  static bool isStream(const std::string &path);

private:
  std::string path, target, temporary; // temporary: "" for streams
  std::string buffer;
  int descriptor = -1;

  void flush();
  void put(const char *data, size_t size);
  void openTemporary();
  void discard();
};

/// Declares that this process reads the file `path`. From now on no PendingFile replaces this file, also through a link
/// or another spelling of the path. The call does nothing when `path` is not a regular file.
void protectInput(const std::string &path);

/// Throws Error where `output` and `input` are the same regular file, also by different names.
void requireApart(const std::string &output, const std::string &input);

} // namespace lathe
