#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/NumberText.h"
#include "engine/report/html/Markup.h"
#include "engine/report/html/Sections.h"

namespace lockstep::report::html {
namespace {

using analysis::BucketMeasure;

/// The largest figure of any rank, and whose it is.
struct Worst {
  std::optional<double> ms;
  int rank = 0;
};

/// `figureOf(row)`: of a rank; none where it is not known.
template <typename Figure>
Worst worstOf(const analysis::BucketDelays& delays, int bucket, const Figure& figureOf) {
  Worst worst;
  for (std::size_t row = 0; bucket < delays.buckets && row < delays.ranks.size(); ++row) {
    const std::optional<double> ms = figureOf(row);
    if (ms && (!worst.ms || *ms > *worst.ms)) {
      worst = {ms, delays.ranks[row]};
    }
  }
  return worst;
}

Worst worstMedian(const analysis::BucketDelays& delays, int bucket, BucketMeasure measure) {
  return worstOf(delays, bucket, [&](std::size_t row) {
    return delays.cell(row, bucket).medianMs[static_cast<std::size_t>(measure)];
  });
}

Worst worstCost(const analysis::BucketDelays& delays, int bucket) {
  return worstOf(delays, bucket, [&](std::size_t row) {
    return delays.costs.meanMs(delays.ranks[row], static_cast<std::uint16_t>(bucket));
  });
}

/// The names of a bucket's parameters; of many the first, and all where they are opened.
std::string namesOf(const RunReport& report, const trace::BucketsMessage::Bucket& bucket) {
  constexpr std::size_t kMostOpen = 3;
  constexpr std::size_t kMost = 400;
  std::string shown;
  std::string more;
  for (std::size_t i = 0; i < std::min(bucket.parameters.size(), kMost); ++i) {
    const std::uint32_t index = bucket.parameters[i];
    std::string& to = i < kMostOpen ? shown : more;
    to += (to.empty() ? "" : ", ") + escaped(index < report.parameters.size()
                                                 ? report.parameters[index].name
                                                 : fmt::format("parameter {}", index));
  }
  if (bucket.parameters.size() > kMost) {
    more += fmt::format(" and {} more", bucket.parameters.size() - kMost);
  }
  return more.empty() ? shown
                      : fmt::format("<details><summary>{}, …</summary>{}</details>", shown, more);
}

}  // namespace

std::string bucketTable(const Figures& of) {
  constexpr std::size_t kMostRows = 256;
  if (of.report.layouts.empty()) {
    return "";
  }
  const trace::BucketsMessage& layout = of.report.layouts.back();
  Table table({{"bucket", true},
               {"size", true},
               {"limit", true, "the cap that it was closed under"},
               {"dtype"},
               {"cost [ms]", true, "mean a step, of the rank that it costs most"},
               {"on rank", true},
               {"exposed [ms]", true,
                "median a step, of the rank where it is largest; buckets in flight together count "
                "the same time each"},
               {"late by [ms]", true, "median a step, of the rank that comes latest to it"},
               {"late rank", true},
               {"transfer [ms]", true, "median a step, of the rank where it is largest"},
               {"parameters", true},
               {"names"}});
  for (std::size_t i = 0; i < std::min(layout.buckets.size(), kMostRows); ++i) {
    const auto& bucket = layout.buckets[i];
    const int number = static_cast<int>(i);
    const Worst cost = worstCost(of.delays, number);
    const Worst late = worstMedian(of.delays, number, BucketMeasure::kLateness);
    const auto rankCell = [](const Worst& worst) {
      return worst.ms ? numberCell(worst.rank, 0) : Cell{};
    };
    table.add({countCell(i), bytesCell(bucket.bytes),
               bucket.limitBytes == 0 ? Cell{} : bytesCell(bucket.limitBytes),
               textCell(bucket.dtype), msCell(cost.ms), rankCell(cost),
               msCell(worstMedian(of.delays, number, BucketMeasure::kExposed).ms), msCell(late.ms),
               rankCell(late), msCell(worstMedian(of.delays, number, BucketMeasure::kTransfer).ms),
               countCell(bucket.parameters.size()), Cell{namesOf(of.report, bucket)}});
  }
  return figure("Buckets",
                fmt::format("As they were from step {} on ({}).", layout.step, layout.reason) +
                    (layout.buckets.size() <= kMostRows
                         ? ""
                         : fmt::format(" The first {} of {}.", kMostRows, layout.buckets.size())),
                table.html());
}

std::string hookTable(const Figures& of) {
  constexpr std::size_t kMostRows = 256;
  using analysis::HookPhase;
  constexpr std::array kPhases{HookPhase::kEncode, HookPhase::kQueued, HookPhase::kWaiting,
                               HookPhase::kTransfer, HookPhase::kDecode};
  std::vector<Column> columns{{"bucket", true}, {"calls", true}, {"call [ms]", true, "median"}};
  for (const HookPhase phase : kPhases) {
    columns.push_back({analysis::name(phase), true, "median of a call, in ms"});
  }
  for (const Column& column : std::initializer_list<Column>{
           {"share [%]", true, "of the time of all calls"},
           {"gradients", true, "bytes of the bucket"},
           {"sent", true, "median bytes of the tensors that its collectives carry in a call"},
           {"ratio", true, "gradients over sent"}}) {
    columns.push_back(column);
  }
  Table table(std::move(columns));
  std::vector<analysis::HookBucket> buckets = of.hook.buckets(of.report.layouts);
  buckets.resize(std::min(buckets.size(), kMostRows));
  for (const analysis::HookBucket& bucket : buckets) {
    const bool around = bucket.bucket == trace::kNoBucket;
    std::vector<Cell> cells{around ? textCell("around a step") : countCell(bucket.bucket),
                            countCell(bucket.total.count()), msCell(bucket.total.p50)};
    for (std::size_t phase = 0; phase < kPhases.size(); ++phase) {
      cells.push_back(bucket.lacks(kPhases[phase]) ? Cell{} : msCell(bucket.phases[phase].p50));
    }
    cells.push_back(numberCell(100 * bucket.share, 1));
    cells.push_back(bucket.gradientBytes ? bytesCell(*bucket.gradientBytes) : Cell{});
    cells.push_back(bytesCell(static_cast<std::uint64_t>(bucket.payloadBytes)));
    cells.push_back(numberCell(bucket.ratio(), 2));
    table.add(cells);
  }
  return figure("Hook phases",
                "What the communication hook does with a bucket, over all ranks and measured "
                "steps: medians of a call, in ms.",
                table.html());
}

}  // namespace lockstep::report::html
