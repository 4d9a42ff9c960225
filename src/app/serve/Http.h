// A small HTTP server for readers: requests without bodies, answers with a body or a stream of events.
//
// cpp-httplib parses and writes the messages. This class handles connections: each has a thread and limits of size and
// time, so a slow client delays no other client. Requests beyond the limits are closed or answered with 400, 408, 431
// or 503.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lathe::serve {

struct Request {
  std::string method, path; // "GET"; decoded, without the query
  std::multimap<std::string, std::string> parameters;
  std::multimap<std::string, std::string> headers; // names in lower case
  /// The first parameter of the query, or the first header, with this name; "" if there is none.
  std::string parameter(const std::string &name) const;
  std::string header(const std::string &name) const;
};

struct Answer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::shared_ptr<const std::string> body; // null: the answer has no body
  // headers in addition to those that every answer has
  std::vector<std::pair<std::string, std::string>> headers = {};
  /// Function for an answer that is a stream instead of a body: returns the stream's next piece, and no value at its
  /// end. The server notices a closed connection only between two pieces, so an endless stream must return "" after
  /// some seconds.
  std::function<std::optional<std::string>()> next = {};
};
/// Makes an answer whose body is a text.
Answer textAnswer(int status, const std::string &text);

/// Function that answers a request. Several threads call it at the same time.
using Handler = std::function<Answer(const Request &request)>;

struct Limits {
  int connections = 64;           // number of open connections; with more, a request is answered with 503
  size_t lineBytes = 8000;        // largest number of bytes of the request line
  size_t headBytes = 16384;       // largest number of bytes of request line and headers together
  int headLines = 64;             // largest number of headers
  int headSeconds = 10;           // largest number of seconds from the first byte of a head to its last
  int idleSeconds = 15;           // largest number of seconds between two requests of a connection
  int stalledSeconds = 15;        // largest number of seconds in which a client takes no part of an answer
  int requestsOfConnection = 200; // number of requests after which a connection is closed
};

class HttpServer {
public:
  HttpServer(Handler handler, const Limits &limits);
  ~HttpServer();

  /// Listens on an IP address, such as "127.0.0.1" or "::1" (empty: 127.0.0.1 and, if the machine has it, ::1), and
  /// returns the port; port 0 chooses a free port. Throws Error with the reason, such as a port in use.
  int listen(const std::string &host, int port);
  /// Accepts connections and answers requests until the process ends.
  [[noreturn]] void run();

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace lathe::serve
