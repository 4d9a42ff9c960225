// Maps addresses to pages, their data as JSON, and events. Reads only the store, never another file.
//
//   /                        experiments, platforms and models             /api/index
//   /report?experiment=A,B   the page of reports; kind, operator and       /api/report?...
//                            provider select as the flags of `lathe report` do; without them everything
//   /compare?a=A&b=B         two experiments with verdicts                 /api/compare?...
//   /events?from=POSITION    server-sent events: experiments that changed
#pragma once

#include "report/Collect.h"
#include "serve/Access.h"
#include "serve/Follower.h"
#include "serve/Page.h"

#include <semaphore>

namespace lathe::serve {

/// Number of points above which a report is sent in pieces: first the part of the page before the data, then the data.
constexpr size_t pointsAtOnce = 2000;

struct Service {
  std::string store;   // path or URL of the store
  std::string version; // version of lathe
  /// Makes a function that gives the ceilings of the platforms of a store. The store must outlive the result.
  std::function<report::CeilingsOf(store::Store &store)> ceilings;
  int mostListeners = 32; // largest number of open event streams
};

class Routes {
public:
  Routes(Service service, Access access, Page page, Follower &follower);

  /// Answers a request of a client. Several threads call it at the same time.
  Answer answer(const Request &request);

private:
  struct Made { // a document, with its request and the state of the store that it shows
    std::string key;
    std::shared_ptr<const std::string> text;
  };

  Answer allowed(const Request &request);
  Answer events(const Request &request);
  Answer document(const std::string &what, const Request &request, bool asPage);
  Answer inPieces(const Request &request, size_t points);
  size_t pointsToRead(const Request &request);
  std::shared_ptr<const std::string> known(const std::string &key);
  std::shared_ptr<const std::string> made(const std::string &what, const Request &request);
  nlohmann::json index(store::Store &store);
  nlohmann::json report(store::Store &store, const Request &request);
  nlohmann::json comparison(store::Store &store, const Request &request);

  Service service;
  Access access;
  Page page;
  Follower &follower;
  // limits the documents made at the same time: each may need a processor for seconds
  std::counting_semaphore<> workers{2};
  std::mutex keeping; // protects `kept`
  // the newest documents, so that several clients that follow one run get the same document
  std::vector<Made> kept;
};

} // namespace lathe::serve
