// The message loop of worker programs: one JSON request per line on standard input, one JSON answer
// per line on standard output (docs/runner-protocol.md, docs/provider-protocol.md).
#pragma once

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

namespace lathe::lab {

/// Answers requests until "quit" or the end of the input. `answer` maps a request to the members of
/// its answer; "ok": true is added. An exception becomes an answer with "ok": false and its text.
/// Returns the exit code.
template <class Answer> int serveLines(Answer &&answer) {
  for (std::string line; std::getline(std::cin, line);) {
    nlohmann::json reply;
    try {
      nlohmann::json request = nlohmann::json::parse(line);
      if (request.at("do") == "quit")
        return 0;
      reply = answer(request);
      reply["ok"] = true;
    } catch (const std::exception &exception) {
      reply = {{"ok", false}, {"error", exception.what()}};
    }
    std::cout << reply.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
  }
  return 0;
}

} // namespace lathe::lab
