#include "jobs/store/Labels.h"

#include "lab/StoreRecords.h"
#include "store/ContentKey.h"
#include "support/Text.h"

#include <set>

namespace lathe::jobs {
namespace {

/// Returns the platform key that begins with `prefix`; this machine's for "here". Throws Error unless exactly one
/// platform has a key like this.
std::string platformOf(store::Store &store, const std::string &prefix) {
  if (prefix == "here")
    return lab::platformHere().key();
  std::set<std::string> found;
  for (const std::string &key : store.platformKeys())
    if (key.starts_with(prefix))
      found.insert(key);
  require(!found.empty() && !prefix.empty(), "platform:{}: no key of a platform in {} begins so", prefix, store.path());
  require(found.size() == 1, "platform:{}: {} platforms begin so: {}", prefix, found.size(), fmt::join(found, ", "));
  return *found.begin();
}

/// The key of the problem with this text. Throws Error if the store has no point of it, or if several operators have
/// this text.
std::string problemOf(store::Store &store, const std::string &text) {
  store::Filter filter;
  filter.problem = text;
  std::set<std::string> found;
  store.points(filter, false, [&](const store::Point &point) { found.insert(point.problem.key()); });
  require(!found.empty(), "problem:{}: {} has no point of this problem; `lathe store show` shows texts", text,
          store.path());
  require(found.size() == 1, "problem:{}: is a problem of {} operators", text, found.size());
  return *found.begin();
}

} // namespace

std::string nameFrom(const std::string &text) {
  std::string name = store::validUtf8(text);
  require(printable(name) == name, "the name '{:.80}' has control characters, expected one line", printable(name));
  return name;
}

std::vector<store::Label> labelsOf(const std::string &uuid, const std::vector<std::string> &tags,
                                   const std::string &note, const std::string &name) {
  std::vector<store::Label> labels;
  auto add = [&](const std::string &kind, const std::string &value, const char *flag) {
    store::Label label{store::LabelTarget::experiment, uuid, kind, value, store::timeNow()};
    try {
      if (kind == "name")
        label.value = nameFrom(value);
      store::checkLabel(label);
    } catch (const Error &error) {
      fail("{}: {}", flag, error.what());
    }
    label.changed.clear(); // the store dates it
    labels.push_back(label);
  };
  for (const std::string &tag : tags)
    add("tag " + store::validUtf8(tag), "set", "--tag");
  if (!note.empty())
    add("note", store::validUtf8(note), "--note");
  if (!name.empty())
    add("name", name, "--name");
  return labels;
}

store::Label labelFor(store::Store &store, const std::string &object) {
  auto after = [&](std::string_view prefix) { return object.substr(prefix.size()); };
  store::Label label;
  if (object.starts_with("platform:")) {
    label.target = store::LabelTarget::platform;
    label.key = platformOf(store, after("platform:"));
  } else if (object.starts_with("problem:")) {
    label.target = store::LabelTarget::problem;
    label.key = problemOf(store, after("problem:"));
  } else {
    label.key = store.experiment(object).uuid;
  }
  return label;
}

} // namespace lathe::jobs
