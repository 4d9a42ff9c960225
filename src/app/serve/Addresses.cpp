#include "serve/Addresses.h"

#include "serve/Access.h"

#include <algorithm>
#include <memory>

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <spawn.h>

extern char **environ;

namespace lathe::serve {

bool isEveryAddress(const std::string &host) { return host == "0.0.0.0" || host == "::"; }

std::vector<InterfaceAddress> interfaceAddresses() {
  ifaddrs *all = nullptr;
  if (::getifaddrs(&all) != 0)
    return {};
  std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, &::freeifaddrs);
  std::vector<InterfaceAddress> addresses;
  for (const ifaddrs *entry = all; entry; entry = entry->ifa_next) {
    if (!entry->ifa_addr || !(entry->ifa_flags & IFF_UP))
      continue;
    char text[INET6_ADDRSTRLEN] = "";
    int family = entry->ifa_addr->sa_family;
    if (family == AF_INET)
      ::inet_ntop(family, &reinterpret_cast<const sockaddr_in *>(entry->ifa_addr)->sin_addr, text, sizeof text);
    else if (family == AF_INET6)
      ::inet_ntop(family, &reinterpret_cast<const sockaddr_in6 *>(entry->ifa_addr)->sin6_addr, text, sizeof text);
    if (*text)
      addresses.push_back({text, family == AF_INET6});
  }
  return addresses;
}

/// True for fe80::/10, addresses that are valid on one interface only.
static bool isLinkLocal(const InterfaceAddress &address) {
  in6_addr bytes = {};
  return address.version6 && ::inet_pton(AF_INET6, address.text.c_str(), &bytes) == 1 && IN6_IS_ADDR_LINKLOCAL(&bytes);
}

std::vector<std::string> openAddresses(const std::string &host, const std::vector<InterfaceAddress> &machine) {
  if (!isEveryAddress(host))
    return {host};
  bool version6 = host == "::";
  std::vector<std::string> addresses;
  for (bool loopback : {false, true})
    for (const InterfaceAddress &address : machine)
      if (address.version6 == version6 && isLoopback(address.text) == loopback && !isLinkLocal(address) &&
          std::find(addresses.begin(), addresses.end(), address.text) == addresses.end())
        addresses.push_back(address.text);
  if (addresses.empty())
    addresses.emplace_back(version6 ? "::1" : "127.0.0.1");
  return addresses;
}

bool openBrowser(std::string address) {
  std::string program = "xdg-open";
  char *argv[] = {program.data(), address.data(), nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (int descriptor : {0, 1, 2})
    ::posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0);
  pid_t child;
  int error = ::posix_spawnp(&child, program.c_str(), &actions, nullptr, argv, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  return error == 0;
}

} // namespace lathe::serve
