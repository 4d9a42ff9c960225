#include "cli/flags/SweepFlags.h"

#include "cli/flags/Describe.h"
#include "cli/flags/PictureFlags.h"
#include "cli/flags/ResourceFlags.h"
#include "cli/flags/TfliteLibrary.h"
#include "import/Foreign.h"
#include "lab/compare/Runner.h"

#include <algorithm>

namespace lathe::cli {

void SweepFlags::addGrid(Options &options) {
  options.add_option("--with", job.with, "Sweep these models, too: names separated by commas")
      ->delimiter(',')
      ->type_name("MODEL");
  options.add_option("--levels", job.levels, "Compile at these levels of -O, as 0-4 or 0,3")->capture_default_str();
  repeatable(
      options.add_option("--target", job.targets,
                         "Compile for this target (lathe help compile); repeat the flag for several (default: native)"))
      ->check(offers({"native"}));
  options.add_option("--threads", job.threads, "Run with these numbers of threads, as 1,2")->capture_default_str();
  options
      .add_option("--layouts", job.layouts,
                  "Compile with these layouts of activations (--layout of compile), as nchw,nhwc,blocked,auto")
      ->check(offersList({"nchw", "nhwc", "blocked", "auto"}))
      ->capture_default_str();
  options.reads([this] { return job.with; });
  options.afterParse([this] {
    for (const std::string &name : job.with)
      require(name.starts_with("zoo:") || !isPackage(name), "--with {}: is a compiled package, expected a model: {}",
              name, readFormats());
  });
}

void SweepFlags::addRuntimes(Options &options) {
  options
      .add_option(
          "--against", job.against,
          "Run the models in these runtimes, too, where they read them, a row for each number of threads: onnxruntime, "
          "tflite, tensorflowjs, tensorflow, opencv, separated by commas")
      ->delimiter(',')
      ->check(offersList({"onnxruntime", "tflite", "tensorflowjs", "tensorflow", "opencv"}))
      ->type_name("RUNTIME");
  addTfliteLibrary(options, [this] {
    if (std::find(job.against.begin(), job.against.end(), "tflite") == job.against.end())
      job.against.emplace_back("tflite");
  });
  options.afterParse([this] {
    for (const std::string &runtime : job.against)
      lab::runnerNamed(runtime, "--against " + runtime);
  });
}

void SweepFlags::addPictures(Options &options) {
  addData(options, job.pictures.data,
          "Classify these pictures at every row: a folder with a folder a class, a folder of pictures, "
          "or a CSV file");
  cli::addPictures(options, job.pictures.preprocessing);
  options.afterParse([this, &options] {
    if (!job.classifies())
      options.refuse({"--labels", "--skip-unreadable", "--random-crops", "--preprocess", "--fit", "--resize",
                      "--pixel-range", "--mean", "--std", "--channels", "--input-layout", "--input-scale",
                      "--input-zero-point"},
                     "give the pictures: --data DIR");
    job.pictures.seed = job.inputs.seed;
  });
}

void SweepFlags::add(Options &options) {
  job.turns.maxSeconds = 60;
  addModel(options, job.model, ModelUse::sweep);
  addGrid(options);
  addRuntimes(options);
  addInputs(options, job.inputs, "random", false);
  addResources(options, job.resources, true);
  addPictures(options);
  options
      .add_option("--max-seconds", job.turns.maxSeconds,
                  "Time all rows for at most this long, later starts of their processes included, in seconds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  options
      .add_option("--starts", job.turns.minStarts,
                  "Start the process of every row at least this often; more starts follow until every verdict is "
                  "decided or --max-seconds have passed")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  options.addOutput("--html", html, "Write the rows with confusion matrices, changed decisions and layouts as a page");
  options.addOutput("--markdown", markdown, "Write the same as Markdown");
  addRecord(options, job.record, &job.model);
  options.add_option(RowStep::stepFlag, job.step.step)->group("");
  options.add_option(RowStep::rowFlag, job.step.row)->group("");
  options.add_option(RowStep::folderFlag, job.step.folder)->group("");
  options.addShowing();
  options.afterParse([this] { job.turns.limitSeconds = job.turns.maxSeconds; });
}

} // namespace lathe::cli
