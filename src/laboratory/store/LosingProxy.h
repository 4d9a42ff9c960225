// A proxy in front of the test's PostgreSQL server that loses the answers to commits.
#pragma once

#include <arpa/inet.h>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <poll.h>
#include <stdexcept>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace lathe::store {

/// Test proxy between a client and a PostgreSQL server. Forwards bytes to the server up to and including a
/// COMMIT, and then closes the connection, so the client never gets the answer.
class LosingProxy {
public:
  LosingProxy() : listener(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(listener, reinterpret_cast<sockaddr *>(&address), size) != 0 || ::listen(listener, 8) != 0 ||
        ::getsockname(listener, reinterpret_cast<sockaddr *>(&address), &size) != 0)
      throw std::runtime_error("no port");
    port = ntohs(address.sin_port);
    thread = std::thread([this] { serve(); });
  }
  ~LosingProxy() {
    stopped = true;
    thread.join();
    ::close(listener);
  }
  int port = 0;
  std::atomic<int> lost{0};   // number of answers to COMMIT lost so far
  std::atomic<int> toLose{0}; // number of answers to COMMIT that the proxy shall lose in all

private:
  static int toServer() {
    int server = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(uint16_t(std::atoi(std::getenv("PGPORT"))));
    return ::connect(server, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0 ? server : -1;
  }
  void serve() {
    while (!stopped) {
      pollfd waiting{listener, POLLIN, 0};
      if (::poll(&waiting, 1, 20) == 1)
        handOn(::accept(listener, nullptr, nullptr), toServer());
    }
  }
  void handOn(int client, int server) {
    char bytes[65536];
    for (bool open = true; open && !stopped;) {
      pollfd both[] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
      ::poll(both, 2, 20);
      for (int side = 0; side < 2 && open; ++side) {
        if (!both[side].revents)
          continue;
        ssize_t got = ::recv(both[side].fd, bytes, sizeof bytes, 0);
        open = got > 0 && ::send(both[1 - side].fd, bytes, size_t(got), MSG_NOSIGNAL) == got;
        if (open && side == 0 && lost < toLose &&
            std::string_view(bytes, size_t(got)).find("COMMIT") != std::string_view::npos) {
          std::this_thread::sleep_for(std::chrono::milliseconds(100)); // by then, the server has committed
          ++lost;
          open = false;
        }
      }
    }
    ::close(client);
    ::close(server);
  }

  int listener;
  std::atomic<bool> stopped{false};
  std::thread thread;
};

} // namespace lathe::store
