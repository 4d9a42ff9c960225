#include "jobs/segments/SegmentPlaces.h"

#include "compile/Checkpoints.h"
#include "support/Error.h"

namespace lathe::jobs {

Cut SegmentPlaces::cut(const std::string &from, const std::string &to) const {
  CutOptions options;
  if (!from.empty())
    options.from = {from + ":0"}; // the node's result, not the node
  if (!to.empty())
    options.to = {to};
  options.tensors = origins;
  options.fromFlag = options.toFlag = "--at";
  return cutGraph(module, options);
}

std::vector<std::string> SegmentPlaces::resolved(const std::vector<std::string> &names) const {
  std::vector<std::string> places;
  for (const std::string &name : names) {
    std::string place = name;
    try {
      cut("", name);
    } catch (const Error &) {
      place = lastOfScope(module, name.ends_with('/') ? name.substr(0, name.size() - 1) : name);
      if (place.empty())
        throw;
    }
    if (!places.empty())
      cut(places.back(), place);
    places.push_back(place);
  }
  return places;
}

} // namespace lathe::jobs
