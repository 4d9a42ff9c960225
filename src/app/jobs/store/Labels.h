// Labels of the store as users write them.
#pragma once

#include "store/Store.h"

namespace lathe::jobs {

/// `text` as the name of an experiment: one line, because tables, legends and commands show it. Throws Error for any
/// other.
std::string nameFrom(const std::string &text);
/// Returns the labels that --tag, --note and --name give to the experiment `uuid`, without a date. Throws Error with
/// the flag for a text that is no valid label.
std::vector<store::Label> labelsOf(const std::string &uuid, const std::vector<std::string> &tags,
                                   const std::string &note, const std::string &name);

/// The target and the key of a label for an object: the beginning of an experiment's id, "platform:KEY" with the
/// beginning of a key or "here", or "problem:TEXT". Throws Error unless exactly one object of the store is meant.
store::Label labelFor(store::Store &store, const std::string &object);

} // namespace lathe::jobs
