// The document that a report page shows: measurements of a store in columns.
//
// The document is JSON; report/page/src/data/schema.ts states its form, and `pageSchema` is its
// version. Numbers of points are typed arrays in base64, little endian: 100,000 points with ten samples
// each are one million numbers. Texts of points are indices into one list of texts. Pairs of points are judged here, for
// every baseline and statistic that the page offers (PagePairs.cpp).
#pragma once

#include "lab/machine/Machine.h"
#include "report/Network.h"
#include "report/Rows.h"

#include <memory>

namespace lathe::report {

/// Version of the form of the page's document; the page accepts no other version.
constexpr int pageSchema = 2;

struct PageHeader {
  std::string title = {}, command = {}; // title of the report; command that wrote it
  std::string version = {}, build = {}; // version and build of lathe
  std::string created = {};             // date and time in UTC
  std::string baseline = {}; // column over which speedups are shown first: "onednn:auto"; "": the page chooses
};

/// Makes the document of a report page from records. Platforms come before their experiments, experiments before their
/// points.
class PageData {
public:
  explicit PageData(PageHeader header);
  ~PageData();
  PageData(PageData &&other) noexcept;

  /// Adds a platform to the document. `ceilings` (peak rates and bandwidths) is null if they are unknown.
  void addPlatform(const store::Platform &platform, const lab::MachineCeilings *ceilings);
  void addExperiment(const store::Experiment &experiment);
  /// Adds a point with its samples to the document. Later points of the same experiment come after it.
  void addPoint(const store::Point &point);
  /// Adds the tuning records of a task to the document, in any order. Records of an experiment that was not added get
  /// no experiment.
  void addTask(const store::TunedTask &task);
  /// Sets the user's labels of all platforms, experiments and problems of the page.
  void setLabels(const std::vector<store::Label> &labels);
  /// Adds the estimates of the time of `network` from its operators' times, with its measured time.
  void addEstimates(const std::string &network, const std::vector<Estimate> &estimates);

  size_t points() const;
  size_t experiments() const;
  size_t tuningRecords() const;
  nlohmann::json document() const;

private:
  struct Columns;
  std::unique_ptr<Columns> columns;
};

/// The document as text to be put into an HTML element of a page: nothing in the text can end the element.
std::string embeddedText(const nlohmann::json &document);

/// Returns the page with the document inside of it: base64 of its JSON, compressed by zlib. `page` is the built template,
/// which has `pageDataMarker` once.
std::string pageWith(std::string_view page, const nlohmann::json &document);

/// The text in the page's template that pageWith replaces by the document.
constexpr std::string_view pageDataMarker = "@LATHE_REPORT_DATA@";

} // namespace lathe::report
