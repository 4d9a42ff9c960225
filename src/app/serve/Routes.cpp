#include "serve/Routes.h"

#include "serve/Comparison.h"
#include "serve/Listing.h"
#include "store/ContentKey.h"
#include "store/NotFound.h"
#include "store/SqliteFiles.h"
#include "support/Text.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

namespace lathe::serve {

using nlohmann::json;

namespace {

/// The request asks for something that does not exist or is impossible.
struct BadRequest {
  int status;
  std::string message;
};

constexpr size_t keptDocuments = 3, pieceBytes = size_t(1) << 20;
constexpr const char *retrySeconds = "5";              // a client retries after this time if a store cannot be read
constexpr auto longestWait = std::chrono::seconds(60); // for a free worker

/// Splits "3f2a,81c0"; the parameter may also be repeated.
std::vector<std::string> listOf(const Request &request, const std::string &name) {
  std::vector<std::string> list;
  auto [begin, end] = request.parameters.equal_range(name);
  for (auto value = begin; value != end; ++value)
    for (size_t from = 0; from <= value->second.size();) {
      size_t comma = std::min(value->second.find(',', from), value->second.size());
      if (comma > from)
        list.push_back(value->second.substr(from, comma - from));
      from = comma + 1;
    }
  return list;
}

store::Filter filterOf(const Request &request, store::Store &store) {
  store::Filter filter;
  for (const std::string &prefix : listOf(request, "experiment"))
    filter.experiments.push_back(store.experiment(prefix).uuid);
  if (std::string kind = request.parameter("kind"); !kind.empty())
    try {
      filter.kind = store::experimentKind(kind);
    } catch (const Error &error) {
      throw BadRequest{404, error.what()};
    }
  filter.op = request.parameter("operator");
  filter.provider = request.parameter("provider");
  return filter;
}

/// For a file that this process cannot write, the time of its last change as a text; else "". The follower's connection
/// assumes that such a file does not change (store/SqliteFiles.h), so its position stays.
std::string writtenAt(const std::string &store) {
  if (store::isServerUrl(store) || store::mayWriteFile(store))
    return "";
  std::string times;
  for (const char *suffix : {"", "-wal"}) {
    std::error_code ignored;
    auto time = std::filesystem::last_write_time(store + suffix, ignored);
    times += fmt::format(" {}", int64_t(time.time_since_epoch().count()));
  }
  return times;
}

/// Key of a document: its kind, its parameters and the state of the store.
std::string keyOf(const std::string &what, const Request &request, const std::string &state) {
  json list = json::array();
  for (auto &[name, value] : request.parameters)
    list.push_back({name, value});
  return what + list.dump(-1, ' ', false, json::error_handler_t::replace) + state;
}

struct Document {
  int status = 200;
  std::shared_ptr<const std::string> text;
};

/// The result of `make`, or a document that says why there is none. `store` is a path.
template <class Make> Document madeOrReason(const std::string &store, Make make) {
  BadRequest problem;
  try {
    return {200, make()};
  } catch (const BadRequest &bad) {
    problem = bad;
  } catch (const store::NotFound &error) {
    problem = {404, shownMessage(error.what(), store)};
  } catch (const Error &error) { // the file is missing, locked or damaged, or the server does not answer
    problem = {503, shownMessage(error.what(), store)};
  } catch (const std::exception &error) {
    std::fprintf(stderr, "lathe serve: internal error: %s\n", error.what());
    problem = {500, "internal error"};
  }
  json message = {{"live", {{"page", "error"}}}, {"message", problem.message}, {"status", problem.status}};
  return {problem.status, std::make_shared<const std::string>(lathe::report::embeddedText(message))};
}

} // namespace

Routes::Routes(Service service, Access access, Page page, Follower &follower)
    : service(std::move(service)), access(std::move(access)), page(std::move(page)), follower(follower) {}

Answer Routes::answer(const Request &request) {
  std::optional<Answer> refused = access.refusal(request);
  Answer answer = refused ? *std::move(refused) : allowed(request);
  for (auto &[name, value] :
       std::initializer_list<std::pair<const char *, const char *>>{{"X-Content-Type-Options", "nosniff"},
                                                                    {"X-Frame-Options", "DENY"},
                                                                    {"Referrer-Policy", "no-referrer"},
                                                                    {"Cross-Origin-Resource-Policy", "same-origin"},
                                                                    {"Cross-Origin-Opener-Policy", "same-origin"},
                                                                    {"Cache-Control", "no-store"}})
    answer.headers.emplace_back(name, value);
  bool hasPolicy = std::any_of(answer.headers.begin(), answer.headers.end(),
                               [](auto &header) { return header.first == "Content-Security-Policy"; });
  if (!hasPolicy)
    answer.headers.emplace_back("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
  return answer;
}

Answer Routes::allowed(const Request &request) {
  if (request.path == "/events")
    return events(request);
  static const std::map<std::string, std::string> pages = {{"/", "index"},
                                                           {"/report", "report"},
                                                           {"/compare", "compare"}},
                                                  data = {{"/api/index", "index"},
                                                          {"/api/report", "report"},
                                                          {"/api/compare", "compare"}};
  if (auto found = pages.find(request.path); found != pages.end())
    return document(found->second, request, true);
  if (auto found = data.find(request.path); found != data.end())
    return document(found->second, request, false);
  return textAnswer(404, "nothing is here; / has the list of experiments");
}

Answer Routes::events(const Request &request) {
  if (follower.listeners() >= service.mostListeners) {
    Answer answer = textAnswer(503, "too many pages follow already");
    answer.headers = {{"Retry-After", "10"}};
    return answer;
  }
  Answer answer;
  answer.type = "text/event-stream";
  if (request.method == "HEAD")
    return answer;
  // A browser that reconnects states the last event it got.
  std::string from = request.header("last-event-id");
  auto listener =
      std::make_shared<Follower::Events>(follower, from.empty() ? request.parameter("from") : std::move(from));
  answer.next = [listener] { return std::optional(listener->next()); };
  return answer;
}

Answer Routes::document(const std::string &what, const Request &request, bool asPage) {
  size_t toRead = 0; // for a page in pieces
  Document document = madeOrReason(service.store, [&]() -> std::shared_ptr<const std::string> {
    if (asPage && what == "report" && (toRead = pointsToRead(request)) > pointsAtOnce)
      return nullptr;
    return made(what, request);
  });
  if (!document.text)
    return inPieces(request, toRead);
  Answer answer;
  answer.status = document.status;
  if (answer.status == 503)
    answer.headers = {{"Retry-After", retrySeconds}};
  if (!asPage) {
    answer.type = "application/json";
    answer.body = std::move(document.text);
    return answer;
  }
  std::string nonce = randomText(16);
  answer.type = "text/html; charset=utf-8";
  answer.headers.emplace_back("Content-Security-Policy", Page::policy(nonce));
  answer.body = std::make_shared<const std::string>(page.with(*document.text, nonce));
  return answer;
}

/// Number of points in a report that must be made; 0 if the report is known.
size_t Routes::pointsToRead(const Request &request) {
  if (known(keyOf("report", request, follower.position() + writtenAt(service.store))))
    return 0;
  store::Store store = store::openReadOnly(service.store);
  size_t points = 0;
  for (const store::ExperimentSummary &summary : store.experiments(filterOf(request, store)))
    points += summary.points;
  return points;
}

/// Sends a large report. The status is sent before the store is read, so a later error becomes the document of the
/// page.
Answer Routes::inPieces(const Request &request, size_t points) {
  struct Progress {
    bool begun = false;
    std::shared_ptr<const std::string> text; // of the document
    size_t sent = 0;                         // bytes of the text
  };
  Answer answer;
  std::string nonce = randomText(16);
  answer.type = "text/html; charset=utf-8";
  answer.headers = {{"Content-Security-Policy", Page::policy(nonce)}};
  answer.next = [=, this, progress = Progress()]() mutable -> std::optional<std::string> {
    if (!std::exchange(progress.begun, true))
      return page.begin(
          fmt::format("Reading {} of {} …", counted(int64_t(points), "point"), store::Location(service.store).name()),
          nonce);
    if (!progress.text)
      progress.text = madeOrReason(service.store, [&] { return made("report", request); }).text;
    if (progress.sent > progress.text->size())
      return std::nullopt;
    size_t from = std::exchange(progress.sent, progress.sent + pieceBytes);
    std::string piece = progress.text->substr(from, pieceBytes);
    return progress.sent > progress.text->size() ? piece + page.end() : piece;
  };
  return answer;
}

/// A document that was already made for this request and state of the store, or null.
std::shared_ptr<const std::string> Routes::known(const std::string &key) {
  std::lock_guard lock(keeping);
  for (const Made &document : kept)
    if (document.key == key)
      return document.text;
  return nullptr;
}

/// The document as embedded text. It is made only once for each state of the store.
std::shared_ptr<const std::string> Routes::made(const std::string &what, const Request &request) {
  std::string position = follower.position(), key = keyOf(what, request, position + writtenAt(service.store));
  if (auto text = known(key))
    return text;
  if (!workers.try_acquire_for(longestWait))
    throw BadRequest{503, "the server is busy with other pages: try again"};
  struct Release {
    std::counting_semaphore<> &workers;
    ~Release() { workers.release(); }
  } release{workers};
  if (auto text = known(key)) // another client has requested the same document
    return text;
  store::Store store = store::openReadOnly(service.store);
  json document = what == "index"    ? index(store)
                  : what == "report" ? report(store, request)
                                     : comparison(store, request);
  document["live"] = {{"page", what}, {"position", position}, {"store", store::Location(service.store).name()}};
  auto text = std::make_shared<const std::string>(lathe::report::embeddedText(document));
  std::lock_guard lock(keeping);
  kept.insert(kept.begin(), {key, text});
  kept.resize(std::min(kept.size(), keptDocuments));
  return text;
}

json Routes::index(store::Store &store) {
  store::Transaction moment(store.connection(), store::Transaction::Kind::read);
  std::vector<store::ExperimentSummary> experiments = store.experiments();
  return {{"experiments", experimentsJson(store, experiments)},
          {"platforms", platformsJson(store, experiments)},
          {"models", modelsJson(store)},
          {"lathe", service.version}};
}

json Routes::report(store::Store &store, const Request &request) {
  store::Filter filter = filterOf(request, store);
  lathe::report::PageHeader header;
  header.command = "lathe report";
  for (size_t i = 0; i < filter.experiments.size(); ++i)
    header.command += (i ? "," : " --experiment ") + filter.experiments[i].substr(0, 8);
  header.version = service.version;
  header.created = store::timeNow();
  return lathe::report::collect(store, filter, std::move(header), service.ceilings(store)).document();
}

json Routes::comparison(store::Store &store, const Request &request) {
  std::string before = request.parameter("a"), after = request.parameter("b");
  if (before.empty() || after.empty())
    throw BadRequest{400, "expected two experiments, as in /compare?a=3f2a&b=91c0"};
  store::Transaction moment(store.connection(), store::Transaction::Kind::read);
  return comparisonJson(store, before, after);
}

} // namespace lathe::serve
