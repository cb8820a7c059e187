#include "ui/views/live/LiveSpread.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace lockstep::ui {
namespace {

constexpr int kPlaces = 60;

double atPart(std::vector<double>& values, double part) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

/// `valueOf(place, rank)`: what a rank has there, or nothing; a place is 0 to kPlaces - 1.
template <typename PlaceToX, typename ValueOf>
RankBand bandOf(const LiveFeed& feed, const PlaceToX& xOf, const ValueOf& valueOf) {
  RankBand band;
  std::vector<double> values;
  for (int place = 0; place < kPlaces; ++place) {
    values.clear();
    for (const LiveFeed::Rank& rank : feed.ranks()) {
      if (const std::optional<double> value = valueOf(place, rank);
          value && std::isfinite(*value)) {
        values.push_back(*value);
      }
    }
    if (values.empty() || values.size() * 2 < feed.ranks().size()) {
      continue;
    }
    const auto [least, most] = std::ranges::minmax(values);
    band.places.push_back(
        {xOf(place), least, atPart(values, 0.25), atPart(values, 0.5), atPart(values, 0.75), most});
  }
  return band;
}

}  // namespace

RankBand lossBand(const RunModel& model, const LiveFeed& feed) {
  std::uint32_t first = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t last = 0;
  for (const LiveFeed::Rank& rank : feed.ranks()) {
    if (const auto& points = model.metric("loss", rank.rank); !points.empty()) {
      first = std::min(first, points.front().step);
      last = std::max(last, points.back().step);
    }
  }
  if (last < first) {
    return {};
  }
  const auto stepOf = [&](int place) {
    return first + static_cast<std::uint32_t>(
                       std::llround(static_cast<double>(last - first) * place / (kPlaces - 1)));
  };
  return bandOf(
      feed, [&](int place) { return static_cast<double>(stepOf(place)); },
      [&](int place, const LiveFeed::Rank& rank) -> std::optional<double> {
        const auto& points = model.metric("loss", rank.rank);
        const auto at = std::ranges::lower_bound(points, stepOf(place), {}, &MetricPoint::step);
        return at == points.end() ? std::nullopt : std::optional(at->value);
      });
}

RankBand throughputBand(const LiveFeed& feed, TimeRange all, double samples) {
  if (all.empty()) {
    return {};
  }
  const double length = all.lengthNs() / kPlaces;
  return bandOf(
      feed, [&](int place) { return (place + 0.5) * length / 1e9; },
      [&](int place, const LiveFeed::Rank& rank) -> std::optional<double> {
        const double begin = all.startNs + length * place;
        const auto rate = LiveFeed::stepsPerSecond(rank, {begin, begin + length});
        return rate ? std::optional(*rate * samples) : std::nullopt;
      });
}

}  // namespace lockstep::ui
