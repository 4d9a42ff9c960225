#include "cli/print/PageFiles.h"

#include "cli/flags/Options.h"
#include "process/Run.h"
#include "process/TemporaryDirectory.h"
#include "report/PageBytes.h"
#include "report/PageData.h"
#include "support/Text.h"

#include <algorithm>
#include <filesystem>

namespace lathe::cli {

void requirePage() { report::builtPage(report::pageTemplate()); }

void writePage(const std::string &path, const nlohmann::json &document) {
  writeFile(path, report::pageWith(report::builtPage(report::pageTemplate()), document));
}

size_t writePlots(const std::string &folder, const nlohmann::json &document) {
  std::string_view bytes = report::builtPage(report::plotProgram());
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  require(!error, "--svg {}: cannot create the folder: {}", folder, error.message());
  process::TemporaryDirectory work("report");
  std::string program = (work.path / "plots.mjs").string(), data = (work.path / "document.json").string();
  writeFile(program, std::string(bytes));
  writeFile(data, document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  process::Command command;
  command.argv = {"node", program, data, folder};
  auto ran = process::run(command);
  require(ran.ok(), "--svg {}: the plots are drawn with Node.js, install nodejs: {}", folder,
          ran.ok() ? "" : ran.failure().message());
  std::string said = ran->stderrTail;
  said.erase(said.find_last_not_of(" \n") + 1);
  require(ran->exitCode == 0, "--svg {}: {}", folder, printable(said));
  auto lines = std::count(ran->output.begin(), ran->output.end(), '\n');
  return static_cast<size_t>(lines);
}

} // namespace lathe::cli
