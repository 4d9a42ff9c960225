#include "report/company/SlowDowns.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace lathe::report {

/// The experiment and what is measured in it, apart from company.
static std::string pairKey(const Row &row) {
  store::Setting bare = row.setting;
  bare.company = {};
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", row.experiment, row.op, row.problem, row.provider, row.variant,
                     bare.key());
}

/// Judges time in company / time alone; the verdict is about the work in company.
static lab::JudgedRatio judgedInCompany(const Row &together, const Row &alone) {
  lab::JudgedRatio judged = judgeTimes(together, alone);
  judged.verdict = lab::turned(judged.verdict); // the denominator is what runs alone
  return judged;
}

std::vector<Row> withCompany(const std::vector<Row> &rows) {
  std::vector<Row> kept;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(kept), [](const Row &row) { return row.inCompany(); });
  kept = latest(std::move(kept));
  std::set<std::string> wanted;
  for (const Row &row : kept)
    wanted.insert(pairKey(row));
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(kept),
               [&](const Row &row) { return !row.inCompany() && wanted.contains(pairKey(row)); });
  return kept;
}

std::vector<SlowDown> slowDowns(const std::vector<Row> &rows) {
  std::map<std::string, const Row *> alone;
  for (const Row &row : rows)
    if (!row.inCompany() && row.counts())
      alone[pairKey(row)] = &row;
  std::vector<SlowDown> result;
  for (const Row &row : rows) {
    auto found = row.inCompany() && row.counts() ? alone.find(pairKey(row)) : alone.end();
    if (found != alone.end())
      result.push_back(
          {&row, found->second, judgedInCompany(row, *found->second), row.disturbed || found->second->disturbed});
  }
  return result;
}

std::vector<CompanyMatrix> matricesOf(const std::vector<SlowDown> &slowDowns) {
  std::vector<CompanyMatrix> matrices;
  std::map<std::pair<std::string, std::string>, size_t> places; // by context and column
  std::map<std::pair<size_t, std::string>, size_t> lines;       // by matrix and problem
  for (const SlowDown &one : slowDowns) {
    std::string context = contextText(*one.alone), column = scheduledColumnOf(*one.alone);
    auto [place, isNew] = places.try_emplace({context, column}, matrices.size());
    if (isNew)
      matrices.push_back({context, column, {}, {}});
    CompanyMatrix &matrix = matrices[place->second];
    std::string company = one.together->setting.company.str();
    auto known = std::find(matrix.companies.begin(), matrix.companies.end(), company);
    auto at = size_t(known - matrix.companies.begin());
    if (known == matrix.companies.end())
      matrix.companies.push_back(company);
    auto [line, isNewLine] = lines.try_emplace({place->second, one.alone->problem}, matrix.lines.size());
    if (isNewLine)
      matrix.lines.emplace_back();
    auto &cells = matrix.lines[line->second];
    cells.resize(std::max(cells.size(), at + 1));
    cells[at] = &one;
  }
  for (CompanyMatrix &matrix : matrices)
    for (auto &cells : matrix.lines)
      cells.resize(matrix.companies.size());
  return matrices;
}

nlohmann::json toJson(const SlowDown &slowDown) {
  nlohmann::json document = identityJson(*slowDown.together);
  document.update(toJson(slowDown.judged, slowDown.disturbed));
  document["alone_ms"] = slowDown.alone->median * 1e3;
  document["together_ms"] = slowDown.together->median * 1e3;
  document["company"] = slowDown.together->setting.company.str();
  return document;
}

} // namespace lathe::report
