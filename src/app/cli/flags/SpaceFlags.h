// The flags --export-space and --points, for verbs that write search spaces.
#pragma once

#include "cli/flags/Options.h"
#include "jobs/tune/SpaceExport.h"

namespace lathe::cli {

/// Adds the flags --export-space and --points. `help`: help text of --export-space.
inline void addSpace(Options &options, SpaceOptions &space, const std::string &help) {
  options.addOutput("--export-space", space.file, help);
  options
      .add_option("--points", space.points,
                  "Write this number of random legal points of every algorithm with more than 2000 points; all legal "
                  "ones of others")
      ->check(CLI::Range(size_t(0), size_t(10000)))
      ->capture_default_str()
      ->type_name("N");
  options.afterParse([&] {
    if (space.file.empty())
      options.refuse({"--points"}, "only --export-space writes points");
  });
}

} // namespace lathe::cli
