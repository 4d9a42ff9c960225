#include "serve/Socket.h"

#include "support/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace lathe::serve {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

int listeningSocket(const std::string &host, int port) {
  addrinfo wanted = {}, *found = nullptr;
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  require(error == 0, "cannot listen on {}: {}", host, ::gai_strerror(error));
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  int descriptor = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
  bool ready =
      descriptor >= 0 && ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
      (found->ai_family != AF_INET6 || ::setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) == 0) &&
      ::bind(descriptor, found->ai_addr, found->ai_addrlen) == 0 && ::listen(descriptor, 64) == 0;
  if (ready)
    return descriptor;
  error = errno;
  if (descriptor >= 0)
    ::close(descriptor);
  fail("cannot listen on {} port {}: {}{}", host, port, std::strerror(error),
       error == EADDRINUSE ? ": choose another one with --port, or a free one with --port 0" : "");
}

int portOf(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  char port[16] = "0";
  if (::getsockname(socket, reinterpret_cast<sockaddr *>(&address), &size) == 0)
    ::getnameinfo(reinterpret_cast<sockaddr *>(&address), size, nullptr, 0, port, sizeof port, NI_NUMERICSERV);
  return std::atoi(port);
}

Socket::~Socket() {
  // Closing with unread bytes would discard the answer at the client: reads and drops what the client still sends.
  ::shutdown(descriptor, SHUT_WR);
  char rest[4096];
  auto end = Clock::now() + milliseconds(200);
  for (size_t taken = 0; taken < size_t(1) << 18 && Clock::now() < end && wait(POLLIN, milliseconds(50));) {
    ssize_t count = ::recv(descriptor, rest, sizeof rest, MSG_DONTWAIT);
    if (count <= 0)
      break;
    taken += size_t(count);
  }
  ::close(descriptor);
}

bool Socket::wait(short events, milliseconds time) const {
  pollfd entry = {descriptor, events, 0};
  int ready = 0;
  auto end = Clock::now() + time;
  do {
    auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now()).count();
    ready = ::poll(&entry, 1, int(std::max<int64_t>(left, 0)));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

Socket::Got Socket::readHead(std::string &head) {
  bool begun = !received.empty();
  auto end = Clock::now() + std::chrono::seconds(begun ? limits.headSeconds : limits.idleSeconds);
  for (;;) {
    if (size_t blank = received.find("\r\n\r\n"); blank != received.npos && blank + 4 <= limits.headBytes) {
      head = received.substr(0, blank + 4);
      received.erase(0, blank + 4);
      return Got::head;
    }
    if (received.size() >= limits.headBytes)
      return Got::tooLarge;
    auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
    if (left.count() <= 0 || !wait(POLLIN, left))
      return begun ? Got::tooSlow : Got::nothing;
    char bytes[4096];
    ssize_t count = ::recv(descriptor, bytes, std::min(sizeof bytes, limits.headBytes - received.size()), 0);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return Got::nothing;
    received.append(bytes, size_t(count));
    if (!begun) {
      begun = true;
      end = Clock::now() + std::chrono::seconds(limits.headSeconds);
    }
  }
}

void Socket::offer(std::string head) {
  toRead = std::move(head);
  offered = 0;
}

void sendRefusal(int descriptor, int status, const char *reason) {
  std::string answer = fmt::format("HTTP/1.1 {} {}\r\nContent-Type: text/plain; charset=utf-8\r\n"
                                   "X-Content-Type-Options: nosniff\r\nContent-Length: {}\r\n"
                                   "Connection: close\r\n\r\n{}\n",
                                   status, reason, std::strlen(reason) + 1, reason);
  [[maybe_unused]] ssize_t sent = ::send(descriptor, answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}
void Socket::refuse(int status, const char *reason) { sendRefusal(descriptor, status, reason); }

bool Socket::is_writable() const {
  char byte;
  ssize_t count = ::recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return count > 0 || (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
}

ssize_t Socket::read(char *bytes, size_t size) {
  size_t count = std::min(size, toRead.size() - offered);
  std::memcpy(bytes, toRead.data() + offered, count);
  offered += count;
  return ssize_t(count);
}

ssize_t Socket::write(const char *bytes, size_t size) {
  for (size_t sent = 0; sent < size;) {
    ssize_t count = ::send(descriptor, bytes + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0)
      sent += size_t(count);
    else if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (!wait(POLLOUT, std::chrono::seconds(limits.stalledSeconds)))
        return -1;
    } else if (count == 0 || errno != EINTR)
      return -1;
  }
  return ssize_t(size);
}

// The client's address is not needed: there is no log of addresses.
void Socket::get_remote_ip_and_port(std::string &address, int &port) const {
  address.clear();
  port = 0;
}
void Socket::get_local_ip_and_port(std::string &address, int &port) const {
  address.clear();
  port = 0;
}

} // namespace lathe::serve
