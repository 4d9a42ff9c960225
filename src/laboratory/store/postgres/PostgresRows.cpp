// Rows of PostgreSQL servers: all at once, in pieces, or one by one.
#include "store/postgres/PostgresConnection.h"
#include "store/postgres/PostgresDialect.h"

#include <charconv>

namespace lathe::store {
namespace {

// Object identifiers of PostgreSQL's types (catalog pg_type).
constexpr Oid integerType = 20, textType = 25, realType = 701, unknownType = 0;
constexpr int pieceRows = 128; // of RowTransfer::inPieces

class PostgresCursor final : public Cursor {
public:
  PostgresCursor(PostgresConnection &server, std::string_view sql, RowTransfer transfer)
      : server(server), sql(postgresStatement(sql)), transfer(transfer), rows(nullptr, {server.pq.clear}) {}
  ~PostgresCursor() override { PostgresCursor::reset(); }
  void bindInteger(int index, int64_t value) override { parameters.set(index, integerType, std::to_string(value)); }
  void bindReal(int index, double value) override { parameters.set(index, realType, fmt::format("{}", value)); }
  void bindText(int index, std::string_view value) override { parameters.set(index, textType, postgresText(value)); }
  void bindNull(int index) override { parameters.set(index, unknownType, std::nullopt); }
  bool step() override {
    if (!rows || ++row == server.pq.ntuples(rows.get()))
      takeRows();
    if (rows && row < server.pq.ntuples(rows.get()))
      return true;
    reset();
    return false;
  }
  void reset() override {
    if (rows && transfer == RowTransfer::oneByOne)
      server.dropRows();
    rows.reset();
    if (!portal.name.empty())
      server.close(portal);
    portal = {};
  }
  bool isNull(int column) const override { return server.pq.getisnull(rows.get(), row, column) != 0; }
  int64_t integer(int column) const override { return number<int64_t>(column); }
  double real(int column) const override { return number<double>(column); }
  std::string text(int column) const override { return textOfPostgres(bytes(column)); }

private:
  /// Takes the first or the next rows; none at the end.
  void takeRows() {
    bool isFirst = !rows;
    int before = row;
    rows.reset(); // frees one piece before reading the next
    row = 0;
    if (transfer == RowTransfer::oneByOne)
      rows = isFirst ? server.firstRow(sql, parameters) : server.nextRow();
    else if (transfer == RowTransfer::inPieces && (isFirst || before == pieceRows))
      rows = isFirst ? server.open(portal, sql, parameters) : server.fetch(portal);
    else if (isFirst)
      rows = server.run(sql, &parameters);
  }
  std::string_view bytes(int column) const {
    return {server.pq.getvalue(rows.get(), row, column), size_t(server.pq.getlength(rows.get(), row, column))};
  }
  template <class Number> Number number(int column) const {
    std::string_view text = bytes(column);
    Number value{};
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  }

  PostgresConnection &server;
  std::string sql;
  RowTransfer transfer;
  Parameters parameters;
  PostgresConnection::Portal portal; // not open while it has no name
  PostgresConnection::Result rows;
  int row = 0;
};

} // namespace

std::unique_ptr<Cursor> PostgresConnection::prepare(std::string_view sql, RowTransfer transfer) {
  return std::make_unique<PostgresCursor>(*this, sql, transfer);
}

static std::string fetchText(const std::string &portal) { return fmt::format("FETCH {} FROM {}", pieceRows, portal); }

PostgresConnection::Result PostgresConnection::open(Portal &portal, const std::string &select,
                                                    const Parameters &parameters) {
  return untilConnected([&] {
    // Without a transaction the server computes all rows now and keeps them until the portal is closed.
    std::string name = fmt::format("lathe_portal_{}", ++portals);
    portal = {};
    once(fmt::format("DECLARE {} NO SCROLL CURSOR {} HOLD FOR {}", name, inTransaction ? "WITHOUT" : "WITH", select),
         &parameters);
    portal = {name, connections, inTransaction ? transactions : 0};
    return once(fetchText(name), nullptr);
  });
}

PostgresConnection::Result PostgresConnection::fetch(const Portal &portal) {
  if (!isOpen(portal))
    throw LostConnection(fmt::format("{}: the connection was lost while rows were read", place.text()));
  return once(fetchText(portal.name), nullptr);
}

void PostgresConnection::close(const Portal &portal) noexcept {
  if (isOpen(portal))
    pq.clear(pq.exec(connection, ("CLOSE " + portal.name).c_str()));
}

PostgresConnection::Result PostgresConnection::firstRow(const std::string &sql, const Parameters &parameters) {
  return untilConnected([&] {
    std::vector<const char *> values = parameters.texts();
    sendsRows = pq.sendQueryParams(connection, sql.c_str(), int(values.size()), parameters.types.data(), values.data(),
                                   nullptr, nullptr, 0) == 1 &&
                pq.setSingleRowMode(connection) == 1;
    if (!sendsRows)
      check(nullptr);
    return nextRow();
  });
}

PostgresConnection::Result PostgresConnection::nextRow() {
  Result row(pq.getResult(connection), {pq.clear});
  if (row && pq.resultStatus(row.get()) == PGRES_SINGLE_TUPLE)
    return row;
  dropRows(); // the end, or a failure
  check(row.get());
  return {nullptr, {pq.clear}};
}

void PostgresConnection::dropRows() noexcept {
  while (PGresult *row = pq.getResult(connection))
    pq.clear(row);
  sendsRows = false;
}

} // namespace lathe::store
