// Says where a store is: in a file, or on a PostgreSQL server by URL.
//
// A URL is postgresql://[USER[:PASSWORD]@][HOST[:PORT]]/[DATABASE][?SETTING=VALUE&...], as libpq
// takes it; postgres:// is the same. The text of a location never has a password, so it may stand
// in messages, in the store and in reports.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::store {

/// True for a text that begins like the URL of a server.
bool isServerUrl(std::string_view text);

class Location {
public:
  /// A URL without a password gets the password that hidePasswords has taken from it. Throws Error for a URL of another
  /// kind, and for one with characters that must be percent-encoded; the message has no password.
  Location(const std::string &text);

  bool isServer() const { return !url.empty(); }
  /// The file, or the URL without passwords.
  const std::string &text() const { return shown; }
  /// A name for people who need not know where the store is: of a file its name without folders, of
  /// a URL the host and the database without user, passwords and settings ("server" if the URL names
  /// neither).
  std::string name() const;
  /// Path for files that belong to this store: the file itself; for a server, a name in `folder`
  /// that follows from the URL.
  std::string filesAt(const std::string &folder) const;
  /// True if the file exists, and for every server.
  bool mayExist() const;

  /// The URL with its passwords, for libpq alone.
  const std::string &secretUrl() const { return url; }
  /// Returns the message of another library without the passwords of this location.
  std::string withoutPasswords(std::string message) const;

private:
  std::string shown, url;           // `url`: "" for a file
  std::vector<std::string> secrets; // passwords, as written and decoded
};

/// Removes the passwords from the URLs among the arguments of this process, in place, so that
/// neither the list of processes nor a recorded command line shows them. Location finds them in
/// this process and in processes that it starts: they are kept in an environment variable.
void hidePasswords(std::span<char *const> arguments);

} // namespace lathe::store
