// Finds the addresses that `lathe serve` prints, and opens one in a browser.
#pragma once

#include <string>
#include <vector>

namespace lathe::serve {

/// True if `host` is 0.0.0.0 or ::, which stand for all addresses of the machine and cannot be opened in a browser.
bool isEveryAddress(const std::string &host);

/// An address of a network interface that is up.
struct InterfaceAddress {
  std::string text; // IP address in numbers: "192.168.1.20", "fd00::1"
  bool version6 = false;
};
std::vector<InterfaceAddress> interfaceAddresses();

/// The addresses at which a server that listens on `host` can be reached: for 0.0.0.0 and :: the machine's addresses of
/// this version, with loopback addresses last; otherwise `host`. Leaves out IPv6 addresses that need the name of an
/// interface: browsers do not accept them.
std::vector<std::string> openAddresses(const std::string &host, const std::vector<InterfaceAddress> &machine);

/// Opens an address in the browser of the desktop, which outlives this program. Returns false if there is none.
bool openBrowser(std::string address);

} // namespace lathe::serve
