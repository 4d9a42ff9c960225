// Output files that appear under their names only when they are complete.
//
//   PendingFile file("model.onnx");
//   file.write(bytes);
//   file.commit(); // without it nothing appears
//
// "-" and "/dev/stdout" mean the standard output. The standard output, devices, pipes and sockets
// are written directly. A symbolic link stays, and the file that it names is replaced. A failed write
// is an Error. A file that was declared with `protectInput` is never replaced.
#pragma once

#include "support/Error.h"

#include <string>
#include <string_view>

namespace lathe {

class PendingFile {
public:
  /// Creates a temporary file for the output `path`. Throws Error if `path` cannot be written or is an input, and if
  /// the temporary file cannot be created.
  explicit PendingFile(std::string path);
  /// Removes the temporary file if `commit` was not called.
  ~PendingFile();
  PendingFile(const PendingFile &) = delete;
  PendingFile &operator=(const PendingFile &) = delete;

  void write(const char *data, size_t size);
  void write(std::string_view bytes) { write(bytes.data(), bytes.size()); }
  /// Writes all buffered bytes and closes the file. Throws Error on failure.
  void close();
  /// Closes the temporary file and renames it to its final name.
  void commit();

  /// Throws Error if the output `path` cannot be written or is an input. Call it before long work.
  static void check(const std::string &path);
  /// True if `path` is written directly: the standard output, a device or a pipe.
  static bool isStream(const std::string &path);

private:
  std::string path, target, temporary; // temporary: name of the temporary file; "" for streams
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

/// Throws Error if `output` and `input` are the same regular file, also under different names.
void requireApart(const std::string &output, const std::string &input);

} // namespace lathe
