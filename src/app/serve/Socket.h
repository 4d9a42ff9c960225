// A connection of `lathe serve` as httplib's stream, with limits of time and size.
#pragma once

#include "serve/Http.h"

#include <chrono>
#include <string>

#include <httplib.h>

namespace lathe::serve {

/// Opens a socket that listens on an IP address, and returns it. Throws Error with the reason.
int listeningSocket(const std::string &host, int port);
/// The port number of a listening socket.
int portOf(int socket);

/// Sends an answer without httplib, as far as it can be sent at once.
void sendRefusal(int descriptor, int status, const char *reason);

/// The connection to one client of the server; owns the socket.
class Socket : public httplib::Stream {
public:
  Socket(int descriptor, const Limits &limits) : descriptor(descriptor), limits(limits) {}
  ~Socket() override;

  enum class Got { head, nothing, tooLarge, tooSlow };
  /// Waits for the head of the client's next request. Returns `nothing` if the client has closed the connection, or
  /// sent nothing in time.
  Got readHead(std::string &head);
  /// Stores the checked head of a request, which `read` returns from now on. Bodies of requests are not read.
  void offer(std::string head);
  /// Sends the client the answer to an invalid request.
  void refuse(int status, const char *reason);

  bool is_readable() const override { return offered < toRead.size(); }
  bool is_writable() const override;
  ssize_t read(char *bytes, size_t size) override;
  /// Sends all `size` bytes. Fails if the client has closed the connection or took nothing for Limits::stalledSeconds.
  ssize_t write(const char *bytes, size_t size) override;
  void get_remote_ip_and_port(std::string &address, int &port) const override;
  void get_local_ip_and_port(std::string &address, int &port) const override;
  socket_t socket() const override { return descriptor; }

private:
  bool wait(short events, std::chrono::milliseconds time) const;

  int descriptor;
  Limits limits;
  std::string received; // bytes that were not used yet: bytes after a head belong to the next request
  std::string toRead;
  size_t offered = 0;
};

} // namespace lathe::serve
