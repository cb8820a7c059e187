#include "engine/export/StatisticsTable.h"

namespace lockstep::exports {

const std::vector<std::string_view>& statisticsTitles() {
  static const std::vector<std::string_view> titles{
      "rank",    "kind",   "what",   "bucket", "count",  "total_ms", "share_percent", "self_ms",
      "mean_ms", "min_ms", "p50_ms", "p90_ms", "p99_ms", "max_ms",   "deviation_ms"};
  return titles;
}

void write(Csv& csv, const StatisticsKey& key, const analysis::SpanStatistics& of, double share) {
  if (key.rank) {
    csv.number(*key.rank);
  } else {
    csv.nothing();
  }
  csv.text(key.kind ? trace::name(*key.kind) : std::string_view()).text(key.what);
  csv.bucket(key.bucket).number(of.count);
  const auto measure = [&](double ns) {  // instants have none
    csv.ms(of.measured == 0 ? std::nullopt : std::optional(ns / 1e6));
  };
  measure(of.total);
  csv.percent(of.measured == 0 ? std::nullopt : std::optional(100 * share));
  for (const double ns : {of.self, of.mean, of.min, of.p50, of.p90, of.p99, of.max, of.deviation}) {
    measure(ns);
  }
  csv.end();
}

}  // namespace lockstep::exports
