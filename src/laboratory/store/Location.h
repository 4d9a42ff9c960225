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

/// True for a text that begins like the URL of a PostgreSQL server.
bool isServerUrl(std::string_view text);

class Location {
public:
  /// Parses a path or a URL. A URL without a password gets the password that hidePasswords has removed from it.
  /// Throws Error for another kind of URL, and for characters that must be percent-encoded; the message contains
  /// no password.
  Location(const std::string &text);

  bool isServer() const { return !url.empty(); }
  /// The path of the store's file, or the server's URL without passwords.
  const std::string &text() const { return shown; }
  /// A short name of a store that does not reveal where it is: for a file its name without folders, for a URL
  /// the host and the database without user, passwords and settings ("server" if the URL names neither).
  std::string name() const;
  /// Path for auxiliary files of this store: the store's file itself; for a server, a name in `folder` derived
  /// from the URL.
  std::string filesAt(const std::string &folder) const;
  /// True if the store may be opened for reading: its file exists, or it is on a server.
  bool mayExist() const;

  /// The server's URL with its passwords; for libpq only.
  const std::string &secretUrl() const { return url; }
  /// Removes the passwords of this location from a message of another library.
  std::string withoutPasswords(std::string message) const;

private:
  std::string shown, url;           // shown: text of the location; url: URL with passwords, "" for a file
  std::vector<std::string> secrets; // passwords in the URL, both as written and percent-decoded
};

/// Removes the passwords from the URLs among the arguments of this process, in place, so that neither the list of
/// processes nor a recorded command line shows them. An environment variable keeps them for Location, in this process
/// and in child processes.
void hidePasswords(std::span<char *const> arguments);

} // namespace lathe::store
