#include "cli/verbs/store/StoreLabels.h"

#include "cli/flags/StoreFlags.h"
#include "jobs/Recording.h"
#include "lab/StoreRecords.h"
#include "store/ContentKey.h"
#include "support/Text.h"

#include <iostream>
#include <set>

namespace lathe::cli {
namespace {

using store::Label;
using store::LabelTarget;

constexpr const char *objectHelp = "an experiment's id or its beginning; platform:KEY (the beginning of its key, or "
                                   "here); problem:TEXT";

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

/// Label target and key for an object named on the command line.
Label labelOf(store::Store &store, const std::string &object) {
  auto after = [&](std::string_view prefix) { return object.substr(prefix.size()); };
  Label label;
  if (object.starts_with("platform:")) {
    label.target = LabelTarget::platform;
    label.key = platformOf(store, after("platform:"));
  } else if (object.starts_with("problem:")) {
    label.target = LabelTarget::problem;
    label.key = problemOf(store, after("problem:"));
  } else {
    label.key = store.experiment(object).uuid;
  }
  return label;
}

struct LabelFlags {
  StoreFlags store;
  std::string object;

  void add(Options &options) {
    options.add_option("object", object, objectHelp)->required();
    store.add(options);
    options.addJson();
  }
};

/// Writes the labels, and prints all labels of the object.
int write(const LabelFlags &flags, const Options &options, store::Store &store, const std::vector<Label> &labels) {
  store.addLabels(labels);
  const Label &any = labels.front();
  store::LabelIndex index = indexOf(store.labels(), any.target);
  const store::Labels &now = index[any.key];
  if (options.printsText())
    std::cout << fmt::format("{}: {}\n", printable(flags.object),
                             now.empty() ? "has no labels" : printable(labelText(now)));
  nlohmann::json document = toJson(now);
  document["target"] = name(any.target);
  document["key"] = any.key;
  options.writeJson(document);
  return success;
}

int writeText(const char *kind, const char *verb, const char *about, const char *examples, const Arguments &arguments) {
  LabelFlags flags;
  std::string text;
  Options options(std::string("store ") + verb, about, examples);
  flags.add(options);
  options.add_option("text", text, fmt::format("the {}; '': remove it", kind))->required();
  options.parseAll(arguments);
  store::Store store = flags.store.openToWrite();
  Label label = labelOf(store, flags.object);
  label.kind = kind;
  label.value = kind == std::string_view("name") ? nameFrom(text) : store::validUtf8(text);
  return write(flags, options, store, {label});
}

} // namespace

std::string labelText(const store::Labels &labels) {
  std::string text = labels.name;
  for (const std::string &tag : labels.tags)
    text += (text.empty() ? "#" : " #") + tag;
  return labels.note.empty() ? text : text.empty() ? labels.note : text + ": " + labels.note;
}

int storeTag(const Arguments &arguments) {
  LabelFlags flags;
  std::vector<std::string> tags;
  bool remove = false;
  Options options("store tag",
                  "Tag an experiment, a platform or a problem, or remove tags. `--tag` of other verbs selects tagged "
                  "experiments.",
                  "  lathe store tag 3f2a nightly avx512\n"
                  "  lathe store tag 3f2a nightly --remove\n"
                  "  lathe store tag platform:here laptop\n");
  flags.add(options);
  options.add_option("word", tags, "words without spaces and commas")->required()->delimiter(',');
  options.add_flag("--remove", remove, "Remove these tags");
  options.parseAll(arguments);
  store::Store store = flags.store.openToWrite();
  Label label = labelOf(store, flags.object);
  std::vector<Label> labels;
  for (const std::string &tag : tags) {
    label.kind = "tag " + store::validUtf8(tag);
    label.value = remove ? "" : "set";
    labels.push_back(label);
  }
  return write(flags, options, store, labels);
}

int storeNote(const Arguments &arguments) {
  return writeText("note", "note", "Attach a note to an experiment, a platform or a problem, or replace it.",
                   "  lathe store note 3f2a 'fans at full speed'\n  lathe store note 3f2a ''\n", arguments);
}

int storeName(const Arguments &arguments) {
  return writeText(
      "name", "name",
      "Name an experiment, a platform or a problem. Tables and reports show the name of a platform instead "
      "of its processor's.",
      "  lathe store name 3f2a 'before the new allocator'\n"
      "  lathe store name platform:here 'build server'\n"
      "  lathe store name 'problem:conv x=1x64x56x56 w=64x64x3x3:const ...' stem\n",
      arguments);
}

} // namespace lathe::cli
