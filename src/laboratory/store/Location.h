// The location of a store: a file, or a database on a PostgreSQL server given by URL.
//
// A URL is postgresql://[USER[:PASSWORD]@][HOST[:PORT]]/[DATABASE][?SETTING=VALUE&...], as libpq accepts it;
// postgres:// is the same. The text of a location never has a password, so it may appear in messages, in the store and
// in reports.
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
  /// A URL without a password gets the password that hidePasswords has removed from it. Throws Error for another kind
  /// of URL, and for characters that must be percent-encoded; the message contains no password.
  Location(const std::string &text);

  bool isServer() const { return !url.empty(); }
  /// The path of the file, or the URL without passwords.
  const std::string &text() const { return shown; }
  /// A short name that does not reveal the location: for a file its name without folders, for a URL the host and the
  /// database without user, passwords and settings ("server" if the URL names neither).
  std::string name() const;
  /// Path for files that belong to this store: the file itself; for a server, a name in `folder` derived from the URL.
  std::string filesAt(const std::string &folder) const;
  /// True if the location may be opened for reading: an existing file, or any server.
  bool mayExist() const;

  /// The URL with its passwords; for libpq only.
  const std::string &secretUrl() const { return url; }
  /// Removes the passwords of this location from a message of another library.
  std::string withoutPasswords(std::string message) const;

private:
  std::string shown, url;           // text of the location; URL with passwords, "" for a file
  std::vector<std::string> secrets; // passwords, both as written and decoded
};

/// Removes the passwords from the URLs among the arguments of this process, in place, so that neither the list of
/// processes nor a recorded command line shows them. An environment variable keeps them for Location, in this process
/// and in child processes.
void hidePasswords(std::span<char *const> arguments);

} // namespace lathe::store
