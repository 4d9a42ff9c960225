#include "serve/Http.h"

#include "serve/RequestHead.h"
#include "serve/Socket.h"
#include "support/Error.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <thread>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace lathe::serve {

static std::string firstOf(const std::multimap<std::string, std::string> &values, const std::string &name) {
  auto found = values.find(name);
  return found == values.end() ? "" : found->second;
}
std::string Request::parameter(const std::string &name) const { return firstOf(parameters, name); }
std::string Request::header(const std::string &name) const { return firstOf(headers, name); }

Answer textAnswer(int status, const std::string &text) {
  Answer answer;
  answer.status = status;
  answer.body = std::make_shared<const std::string>(text + "\n");
  return answer;
}

namespace {

Request plainRequest(const httplib::Request &received) {
  Request request;
  request.method = received.method;
  request.path = received.path;
  request.parameters.insert(received.params.begin(), received.params.end());
  for (auto &[name, value] : received.headers) {
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char letter) { return char(std::tolower(letter)); });
    request.headers.emplace(lower, value);
  }
  return request;
}

/// Converts an answer to the library's form. Bodies are shared, not copied.
void write(const Answer &answer, bool isHead, httplib::Response &response) {
  response.status = answer.status;
  response.set_header("Accept-Ranges", "none"); // otherwise the library offers ranges to HEAD
  for (auto &[name, value] : answer.headers)
    response.set_header(name, value);
  if (answer.next && !isHead) {
    response.set_chunked_content_provider(answer.type, [next = answer.next](size_t, httplib::DataSink &sink) {
      if (!sink.is_writable()) // the client has gone
        return false;
      std::optional<std::string> piece = next();
      if (!piece)
        sink.done();
      else if (!piece->empty())
        return sink.write(piece->data(), piece->size());
      return true;
    });
    return;
  }
  if (!answer.body || answer.body->empty()) {
    response.set_header("Content-Type", answer.type); // the content provider sets it, too
    return;
  }
  response.set_content_provider(answer.body->size(), answer.type,
                                [body = answer.body](size_t from, size_t size, httplib::DataSink &sink) {
                                  return sink.write(body->data() + from, std::min(size, size_t(1) << 18));
                                });
}

} // namespace

struct HttpServer::State : httplib::Server {
  State(serve::Handler handler, const Limits &limits) : handler(std::move(handler)), limits(limits) {
    set_pre_routing_handler([this](const httplib::Request &received, httplib::Response &response) {
      Request request = plainRequest(received);
      write(answerTo(request), request.method == "HEAD", response);
      return HandlerResponse::Handled;
    });
    keep_alive_timeout_sec_ = limits.idleSeconds; // for the header in answers
    keep_alive_max_count_ = size_t(limits.requestsOfConnection);
  }

  Answer answerTo(const Request &request) const {
    try {
      return handler(request);
    } catch (const std::exception &error) {
      std::fprintf(stderr, "lathe serve: internal error: %s\n", error.what());
      return textAnswer(500, "internal error");
    }
  }

  void converse(int descriptor);
  void accept(int listener);
  void add(int listener) {
    listeners.push_back(listener);
    svr_sock_ = listener; // the library writes no body without a socket
  }

  serve::Handler handler;
  Limits limits;
  std::vector<int> listeners;
  std::atomic<int> connections = 0;
};

/// Answers the requests of one connection.
void HttpServer::State::converse(int descriptor) {
  Socket socket(descriptor, limits);
  for (int count = 1; count <= limits.requestsOfConnection; ++count) {
    std::string head;
    switch (socket.readHead(head)) {
    case Socket::Got::nothing:
      return;
    case Socket::Got::tooLarge:
      return socket.refuse(431, "Request Header Fields Too Large");
    case Socket::Got::tooSlow:
      return socket.refuse(408, "Request Timeout");
    case Socket::Got::head:
      break;
    }
    std::optional<RequestHead> checked = checkedHead(head, limits.headLines);
    if (!checked)
      return socket.refuse(400, "Bad Request");
    if (checked->lineBytes > limits.lineBytes)
      return socket.refuse(414, "URI Too Long");
    socket.offer(std::move(checked->text));
    bool last = checked->last || count == limits.requestsOfConnection, closed = last;
    if (!process_request(socket, last, closed, nullptr) || closed)
      return;
  }
}

void HttpServer::State::accept(int listener) {
  int descriptor = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (descriptor < 0) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return;
  }
  if (connections.fetch_add(1) < limits.connections)
    try {
      std::thread([this, descriptor] {
        try {
          converse(descriptor);
        } catch (const std::exception &error) { // out of memory
          std::fprintf(stderr, "lathe serve: a connection ended: %s\n", error.what());
        }
        --connections;
      }).detach();
      return;
    } catch (const std::system_error &) { // no more threads
    }
  --connections;
  sendRefusal(descriptor, 503, "Service Unavailable");
  ::close(descriptor);
}

HttpServer::HttpServer(Handler handler, const Limits &limits)
    : state(std::make_unique<State>(std::move(handler), limits)) {}
HttpServer::~HttpServer() = default;

int HttpServer::listen(const std::string &host, int port) {
  int listener = listeningSocket(host.empty() ? "127.0.0.1" : host, port);
  state->add(listener);
  port = portOf(listener);
  if (host.empty())
    try {
      state->add(listeningSocket("::1", port));
    } catch (const Error &) { // no IPv6, or its port is in use: the IPv4 address is printed
    }
  return port;
}

void HttpServer::run() {
  std::vector<pollfd> entries;
  for (int listener : state->listeners)
    entries.push_back({listener, POLLIN, 0});
  for (;;) {
    if (::poll(entries.data(), entries.size(), -1) <= 0)
      continue;
    for (const pollfd &entry : entries)
      if (entry.revents)
        state->accept(entry.fd);
  }
}

} // namespace lathe::serve
