// The addresses that a server prints.
#pragma once

#include <string>
#include <vector>

namespace lathe::serve {

/// True for 0.0.0.0 and ::, which stand for all addresses of the machine: nobody can open them.
bool isEveryAddress(const std::string &host);

/// An address of a network interface that is up.
struct InterfaceAddress {
  std::string text; // "192.168.1.20", "fd00::1"
  bool version6 = false;
};
std::vector<InterfaceAddress> interfaceAddresses();

/// The addresses under which a server that listens on `host` is reached: of 0.0.0.0 and :: the addresses of the
/// machine in their version, those that only this machine reaches last; else `host`. Addresses of version 6 that
/// need the name of an interface behind them are left out: browsers take none.
std::vector<std::string> openAddresses(const std::string &host, const std::vector<InterfaceAddress> &machine);

} // namespace lathe::serve
