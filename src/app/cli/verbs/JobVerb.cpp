// `lathe job JOB MESSAGE RESULT`: does a job for another process of this program (jobs::doElsewhere). Users do not call it.
#include "cli/CompilerVerbs.h"
#include "cli/print/CompilePrint.h"

namespace lathe::cli {

using nlohmann::json;

static json compileJob(const json &message) {
  auto job = message.get<CompileJob>();
  Progress progress("compile " + job.model.model);
  Compiled made = compiled(job, watchOf(progress));
  return compiledJson(job, made, layoutReport(made.report, job.model, false));
}

int jobVerb(const Arguments &arguments) {
  static const std::map<std::string, json (*)(const json &)> jobs = {{"compile", compileJob}};
  std::string message, result;
  Options options("job", "Do a job for another process of this program.", "");
  std::string name;
  options.add_option("JOB", name)->required();
  options.add_option("MESSAGE", message)->required();
  options.add_option("RESULT", result)->required();
  options.addQuiet();
  options.parseAll(arguments);
  auto job = jobs.find(name);
  require(job != jobs.end(), "this compiler library has no job '{}': it is of another version", name);
  writeFile(result,
            job->second(json::from_cbor(readFile(message))).dump(-1, ' ', false, json::error_handler_t::replace));
  return success;
}

} // namespace lathe::cli
