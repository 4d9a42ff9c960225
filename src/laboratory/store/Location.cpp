#include "store/Location.h"

#include "store/ContentKey.h"
#include "support/Error.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace lathe::store {

using nlohmann::json;

// The environment variable that maps URLs without passwords to the same URLs with passwords, as a JSON object, for this
// process and its children.
static constexpr const char *passwordsVariable = "LATHE_STORE_PASSWORDS";

static constexpr std::string_view schemes[] = {"postgresql://", "postgres://"};

bool isServerUrl(std::string_view text) { return text.starts_with(schemes[0]) || text.starts_with(schemes[1]); }

/// Returns `text` with every %NN replaced by its byte.
static std::string decoded(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    auto digit = [&](size_t at) { return at < text.size() && std::isxdigit(static_cast<unsigned char>(text[at])); };
    if (text[i] == '%' && digit(i + 1) && digit(i + 2)) {
      result += char(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

namespace {

/// The parts of a URL.
struct Parts {
  std::string scheme, user, rest; // `rest`: hosts, database and settings without passwords
  std::vector<std::string> passwords;
  bool isWellFormed = true;

  explicit Parts(std::string_view text) {
    scheme = text.substr(0, text.find("//") + 2);
    text.remove_prefix(scheme.size());
    if (size_t at = text.rfind('@'); at != text.npos) {
      std::string_view owner = text.substr(0, at);
      isWellFormed = owner.find_first_of("/?#@ ") == owner.npos;
      if (!isWellFormed) { // the end of a password is unknown, and a setting may contain a password, too
        rest = std::string(owner.substr(0, owner.find_first_of(":/?#@ "))) + "...";
        addPassword(text);
        return;
      }
      size_t colon = owner.find(':');
      user = owner.substr(0, colon);
      if (colon != owner.npos)
        addPassword(owner.substr(colon + 1));
      text.remove_prefix(at + 1);
    }
    size_t question = text.find('?');
    rest = text.substr(0, question);
    if (question != text.npos)
      addSettings(text.substr(question + 1));
  }

  std::string shown() const { return scheme + user + (user.empty() ? "" : "@") + rest; }

private:
  void addPassword(std::string_view password) {
    if (password.empty())
      return;
    passwords.emplace_back(password);
    if (std::string plain = decoded(password); plain != password)
      passwords.push_back(plain);
  }
  void addSettings(std::string_view settings) {
    char separator = '?';
    while (!settings.empty()) {
      std::string_view setting = settings.substr(0, settings.find('&'));
      settings.remove_prefix(std::min(settings.size(), setting.size() + 1));
      size_t equals = setting.find('=');
      std::string name = decoded(setting.substr(0, equals));
      if (name.ends_with("password")) { // password, sslpassword
        if (equals != setting.npos)
          addPassword(setting.substr(equals + 1));
        continue;
      }
      rest += separator;
      rest += setting;
      separator = '&';
    }
  }
};

json knownPasswords() {
  const char *text = std::getenv(passwordsVariable);
  json known = text ? parseDocument(text) : json::object();
  return known.is_object() ? known : json::object();
}

} // namespace

/// The scheme of a URL: "mysql" for "mysql://..."; "" for a text that is not a URL.
static std::string schemeOf(std::string_view text) {
  std::string_view scheme = text.substr(0, text.find("://"));
  bool isScheme = scheme.size() < text.size() && scheme.size() > 1 &&
                  std::all_of(scheme.begin(), scheme.end(), [](unsigned char letter) {
                    return std::isalnum(letter) || letter == '+' || letter == '.' || letter == '-';
                  });
  return isScheme ? std::string(scheme) : "";
}

Location::Location(const std::string &text) : shown(text) {
  if (!isServerUrl(text)) {
    std::string scheme = schemeOf(text); // the rest may contain a password
    require(scheme.empty(), "{}://...: expected a file or postgresql://HOST/DATABASE", scheme);
    return;
  }
  url = text;
  if (Parts parts(text); parts.passwords.empty())
    if (json known = knownPasswords(); known.contains(text) && known[text].is_string())
      url = known[text];
  Parts parts(url);
  shown = parts.shown();
  secrets = parts.passwords;
  require(
      parts.isWellFormed,
      "{}: expected a URL with one '@'; in names and passwords write '@' as %40, '/' as %2F, '?' as %3F, '#' as %23 "
      "and a space as %20",
      shown);
}

std::string Location::name() const {
  if (!isServer())
    return std::filesystem::path(shown).filename().string();
  std::string rest = shown.substr(shown.find("//") + 2);
  rest = rest.substr(0, rest.find_first_of("?#"));
  rest.erase(0, rest.rfind('@') + 1);
  size_t slash = rest.find('/');
  std::string host = rest.substr(0, slash), database = slash == rest.npos ? "" : decoded(rest.substr(slash + 1));
  if (database.empty())
    return host.empty() ? "server" : host;
  return host.empty() ? database : host + "/" + database;
}

std::string Location::filesAt(const std::string &folder) const {
  return isServer() ? (std::filesystem::path(folder) / ("postgresql-" + contentKey(shown).substr(0, 8))).string()
                    : shown;
}

bool Location::mayExist() const {
  std::error_code ignored;
  return isServer() || std::filesystem::exists(shown, ignored);
}

std::string Location::withoutPasswords(std::string message) const {
  for (const std::string &secret : secrets)
    for (size_t at = 0; (at = message.find(secret, at)) != message.npos; at += 3)
      message.replace(at, secret.size(), "***");
  return message;
}

void hidePasswords(std::span<char *const> arguments) {
  json known = knownPasswords();
  bool found = false;
  for (char *argument : arguments) {
    char *begin = argument;
    if (*begin == '-' && std::strchr(begin, '=')) // --store=URL
      begin = std::strchr(begin, '=') + 1;
    if (!isServerUrl(begin))
      continue;
    Parts parts(begin);
    if (parts.passwords.empty())
      continue;
    std::string shown = parts.shown();
    known[shown] = validUtf8(begin);
    found = true;
    size_t length = std::strlen(begin); // not shorter than the text without the password
    std::memset(begin, 0, length);
    std::memcpy(begin, shown.data(), std::min(shown.size(), length));
  }
  if (found)
    ::setenv(passwordsVariable, known.dump(-1, ' ', false, json::error_handler_t::replace).c_str(), 1);
}

} // namespace lathe::store
