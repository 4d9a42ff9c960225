// `lathe serve`: the store in a browser (docs/serving.md). This is the program lathe-serve.
#include "cli/flags/StoreFlags.h"
#include "jobs/ops/Ceilings.h"
#include "report/PageBytes.h"
#include "serve/Addresses.h"
#include "serve/Listing.h"
#include "serve/Routes.h"
#include "support/Interrupt.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <iostream>
#include <span>
#include <thread>

namespace lathe::cli {
namespace {

constexpr size_t shortestToken = 16, longestToken = 256, madeTokenBytes = 16;

struct ServeFlags {
  StoreFlags store;
  int port = 8090;
  std::string host, token;
  bool open = false;

  void add(Options &options) {
    store.add(options);
    options.add_option("--port", port, "Listen on this port (0: a free one)")
        ->check(CLI::Range(0, 65535))
        ->capture_default_str();
    options
        .add_option("--host", host,
                    "Listen on this address for other machines, too; every request then needs a token\n"
                    "(default: 127.0.0.1 and ::1, which only this machine reaches)")
        ->type_name("ADDRESS");
    options
        .add_option("--token", token,
                    fmt::format("Demand this token of every request, {} characters or more\n"
                                "(default: none; with --host a random one, which is printed)",
                                shortestToken))
        ->type_name("TOKEN");
    options.add_flag("--open", open, "Open the page in the browser of the desktop");
    options.afterParse([this, &options] {
      bool plain = std::all_of(token.begin(), token.end(), [](unsigned char letter) {
        return std::isalnum(letter) || std::string_view("-._~").find(char(letter)) != std::string_view::npos;
      });
      require(!options.given("--token") || (plain && token.size() >= shortestToken && token.size() <= longestToken),
              "--token: expected {} to {} letters, digits and -._~, got {} characters", shortestToken, longestToken,
              token.size());
      require(!options.given("--host") || !host.empty(), "--host: expected an address, got none");
    });
  }
};

/// Prints the addresses, the best one last, and returns the one for a browser of this machine.
std::string tellAddresses(const ServeFlags &flags, int port, const std::string &token, bool shownToken,
                          const std::string &store) {
  std::vector<std::string> hosts =
      serve::openAddresses(flags.host.empty() ? "127.0.0.1" : flags.host, serve::interfaceAddresses());
  auto address = [&](const std::string &host, bool withToken) {
    return fmt::format("http://{}/{}", serve::authority(host, port),
                       withToken && !token.empty() ? "?token=" + token : "");
  };
  std::string text;
  for (size_t i = hosts.size(); i-- > 1;)
    text += address(hosts[i], shownToken) + "\n";
  store::Location place(store);
  std::string shown = place.isServer() ? place.name() : store;
  std::cout << fmt::format("{}{} shows {}; Ctrl-C ends it\n", text, address(hosts[0], shownToken), shown) << std::flush;
  return address(hosts.back(), true);
}

int serveVerb(const Arguments &arguments) {
  ServeFlags flags;
  Options options("serve",
                  "Show the store in a browser: experiments, platforms and models, reports, two experiments compared,\n"
                  "and running measurements as they go. Nothing can be changed. Only this machine is answered, unless\n"
                  "--host says otherwise (docs/serving.md). Runs until Ctrl-C.",
                  "  lathe serve --open\n"
                  "  lathe serve --store results.db --port 0\n"
                  "  lathe serve --host 192.168.1.20\n");
  flags.add(options);
  options.parseAll(arguments);
  std::string path = flags.store.path();
  serve::Follower follower(path);
  serve::Page page(report::builtPage(report::pageTemplate()));
  bool remote = !flags.host.empty() && !serve::isLoopback(flags.host), made = remote && flags.token.empty();
  std::string token = made ? serve::randomText(madeTokenBytes) : flags.token;

  std::optional<serve::Routes> routes; // created when the port is known
  serve::HttpServer server([&](const serve::Request &request) { return routes->answer(request); }, serve::Limits());
  int port = server.listen(flags.host, flags.port);
  serve::Service service{.store = path, .version = LATHE_VERSION, .ceilings = [](store::Store &store) {
                           auto known = std::make_shared<Ceilings>(store);
                           return [known](const std::string &platform) { return known->of(platform); };
                         }};
  routes.emplace(std::move(service), serve::Access(flags.host, port, token), std::move(page), follower);
  endQuietly();
  std::string ownAddress = tellAddresses(flags, port, token, made, path);
  if (flags.open && !serve::openBrowser(ownAddress))
    std::cerr << "lathe serve: --open: xdg-open cannot be started, open the address yourself\n";
  std::thread([&] { follower.run(); }).detach();
  server.run();
}

/// Overwrites the value of --token in the list of processes, which every user of the machine can read.
void hideToken(std::span<char *const> arguments) {
  constexpr std::string_view flag = "--token", withValue = "--token=";
  bool isValue = false;
  for (char *argument : arguments) {
    std::string_view text = argument;
    if (isValue)
      std::memset(argument, '*', text.size());
    else if (text.starts_with(withValue))
      std::memset(argument + withValue.size(), '*', text.size() - withValue.size());
    isValue = !isValue && text == flag;
  }
}

} // namespace
} // namespace lathe::cli

int main(int argc, char **argv) {
  using namespace lathe::cli;
  std::span<char *const> given(argv, size_t(argc));
  lathe::store::hidePasswords(given);
  Arguments arguments(argv + 1, argv + argc);
  hideToken(given);
  return guarded("serve", [&] { return serveVerb(arguments); });
}
