#include "ui/views/overlap/BucketContent.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/base/InHalves.h"
#include "engine/cost/Sample.h"
#include "engine/diagnosis/UnlikeRanks.h"
#include "ui/model/ViewState.h"
#include "ui/views/overlap/OverlapWords.h"

namespace lockstep::ui {
namespace {

using analysis::BucketCell;
using analysis::BucketMeasure;
using analysis::BucketSample;

constexpr std::size_t kCellsWorthTwoThreads = 256;

struct FigureWords {
  const char* title;
  const char* meaning;
  const char* term;
};

const FigureWords& wordsOf(CellFigure figure) {
  static constexpr std::array<FigureWords, kCellFigures> kWords{
      {{"Cost",
        "In flight while this rank computed nothing, each moment given to one bucket: what it adds "
        "to the step.",
        "cost"},
       {"Exposed",
        "In flight while this rank computed nothing; buckets in flight together count the same "
        "time each.",
        "exposed time"},
       {"Arrival lateness", "How long after the first rank it came to the bucket's collective.",
        "lateness"},
       {"Duration", "From its own arrival to the end, over the bucket's collectives.",
        "collective"},
       {"Waiting", "From its own arrival to the last rank's.", "waiting"},
       {"Transfer", "From the last rank's arrival to the end: bytes move.", "transfer"}}};
  return kWords[static_cast<std::size_t>(figure)];
}

bool isMeasured(const BucketSample& sample, CellFigure figure, std::uint32_t firstMeasured) {
  return figure == CellFigure::kCost ? sample.counts : sample.step >= firstMeasured;
}

BucketContent::Measured measured(const BucketCell& cell, CellFigure figure,
                                 std::uint32_t firstMeasured) {
  BucketContent::Measured of;
  std::vector<double> values;
  double most = 0;
  std::uint32_t index = 0;
  for (const BucketSample& sample : cell.samples) {
    const auto ms =
        isMeasured(sample, figure, firstMeasured) ? figureOf(sample, figure) : std::nullopt;
    if (ms) {
      values.push_back(*ms);
      if (!of.worst || *ms > most) {
        of.worst = index;
        most = *ms;
      }
    }
    index += 1;
  }
  if (!values.empty()) {
    of.meanMs =
        std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    of.medianMs = analysis::median(std::move(values));
  }
  return of;
}

/// The mean cost is that by which the headline names a bucket, over all steps of the rank.
void takeMeanCost(BucketContent::Measured& cost, const analysis::BucketDelays& delays,
                  std::size_t cell) {
  const auto buckets = static_cast<std::size_t>(delays.buckets);
  if (cost.meanMs) {
    cost.meanMs = delays.costs.meanMs(delays.ranks[cell / buckets],
                                      static_cast<std::uint16_t>(cell % buckets));
  }
}

void addRows(BucketContent& content, const AnalysedRun& run) {
  for (std::size_t rank = 0; rank < content.delays.ranks.size(); ++rank) {
    content.each.push_back({{rank}, false});
  }
  // Where nothing is judged yet all are as one, and that would hide the one that is looked for.
  if (content.each.size() > kFewRanks && run.likeness().judged) {
    for (const diagnosis::AlikeRanks& alike : run.likeness().classes) {
      BucketContent::Row row{{}, alike.unlike};
      for (const int rank : alike.ranks) {
        if (const auto index = content.indexOf(rank)) {
          row.ranks.push_back(*index);
        }
      }
      if (!row.ranks.empty()) {
        content.alike.push_back(std::move(row));
      }
    }
    // Who is looked for stands on top.
    std::ranges::stable_partition(content.alike, &BucketContent::Row::unlike);
  }
  if (content.alike.empty()) {
    content.alike = content.each;
  }
}

void addLayout(BucketContent& content, const AnalysedRun& run) {
  const trace::BucketsMessage* last = nullptr;
  for (const trace::BucketsMessage& layout : run.data.layouts) {
    last = last == nullptr || layout.step >= last->step ? &layout : last;
  }
  if (last != nullptr) {
    for (const trace::BucketsMessage::Bucket& bucket : last->buckets) {
      content.bytes.push_back(bucket.bytes);
    }
  }
  if (content.bytes.size() == 1 || content.delays.buckets == 1) {
    content.note = overlap_words::oneBucket();
  }
}

QString whyEmpty(const BucketContent& content, const AnalysedRun& run) {
  const std::size_t ranks =
      std::max({run.ranks.size(), content.delays.ranks.size(), run.analysis.ranks.size()});
  return ranks == 1 || content.delays.empty()
             ? overlap_words::whyNoBuckets(ranks, !run.analysis.collectives.empty())
             : QString();
}

}  // namespace

QString titleOf(CellFigure figure) {
  return QString::fromLatin1(wordsOf(figure).title);
}

QString meaningOf(CellFigure figure) {
  return QString::fromLatin1(wordsOf(figure).meaning);
}

QString termOf(CellFigure figure) {
  return QString::fromLatin1(wordsOf(figure).term);
}

bool addsUp(CellFigure figure) {
  return figure != CellFigure::kLateness;
}

std::optional<double> figureOf(const BucketSample& sample, CellFigure figure) {
  switch (figure) {
    case CellFigure::kCost:
      return sample.of(BucketMeasure::kCost);
    case CellFigure::kExposed:
      return sample.of(BucketMeasure::kExposed);
    case CellFigure::kLateness:
      return sample.of(BucketMeasure::kLateness);
    case CellFigure::kWaiting:
      return sample.of(BucketMeasure::kWaiting);
    case CellFigure::kTransfer:
      return sample.of(BucketMeasure::kTransfer);
    case CellFigure::kDuration:
      break;
  }
  const auto waiting = sample.of(BucketMeasure::kWaiting);
  const auto transfer = sample.of(BucketMeasure::kTransfer);
  return waiting && transfer ? std::optional(*waiting + *transfer) : std::nullopt;
}

std::optional<double> BucketContent::valueOf(std::size_t rank, int bucket,
                                             const CellChoice& choice) const {
  if (choice.scope == CellScope::kStep) {
    const BucketSample* sample = delays.cell(rank, bucket).at(choice.step);
    return sample == nullptr ? std::nullopt : figureOf(*sample, choice.figure);
  }
  const Measured& of = cell(rank, bucket)[static_cast<std::size_t>(choice.figure)];
  return choice.scope == CellScope::kMean ? of.meanMs : of.medianMs;
}

std::optional<double> BucketContent::valueOf(const Row& row, int bucket,
                                             const CellChoice& choice) const {
  std::vector<double> values;
  for (const std::size_t rank : row.ranks) {
    if (const auto value = valueOf(rank, bucket, choice)) {
      values.push_back(*value);
    }
  }
  return analysis::median(std::move(values));
}

std::size_t BucketContent::mostOf(const Row& row, int bucket, const CellChoice& choice) const {
  return *std::ranges::max_element(
      row.ranks, {}, [&](std::size_t rank) { return valueOf(rank, bucket, choice).value_or(-1); });
}

const BucketSample* BucketContent::sampleOf(std::size_t rank, int bucket,
                                            const CellChoice& choice) const {
  const BucketCell& of = delays.cell(rank, bucket);
  if (choice.scope == CellScope::kStep) {
    return of.at(choice.step);
  }
  const auto& worst = cell(rank, bucket)[static_cast<std::size_t>(choice.figure)].worst;
  return worst ? &of.samples[*worst] : nullptr;
}

std::optional<std::size_t> BucketContent::indexOf(int rank) const {
  const auto at = std::ranges::lower_bound(delays.ranks, rank);
  return at != delays.ranks.end() && *at == rank
             ? std::optional(static_cast<std::size_t>(at - delays.ranks.begin()))
             : std::nullopt;
}

std::optional<std::size_t> BucketContent::rowOf(int rank, bool folded) const {
  const auto index = indexOf(rank);
  const std::vector<Row>& all = rows(folded);
  for (std::size_t row = 0; index && row < all.size(); ++row) {
    if (std::ranges::find(all[row].ranks, *index) != all[row].ranks.end()) {
      return row;
    }
  }
  return std::nullopt;
}

std::shared_ptr<const BucketContent> bucketContent(const AnalysedRun& run) {
  return GrowingBucketContent().refresh(run);
}

std::shared_ptr<const BucketContent> GrowingBucketContent::refresh(const AnalysedRun& run) {
  const std::lock_guard lock(mutex_);
  return bucketContent(run, delays_.refresh(run.data, run.analysis));
}

std::shared_ptr<const BucketContent> bucketContent(const AnalysedRun& run,
                                                   analysis::BucketDelays delays) {
  auto content = std::make_shared<BucketContent>();
  content->delays = std::move(delays);
  content->firstMeasured = run.analysis.warmUp.firstMeasured;
  content->headline = overlap_words::headline(run.analysis);
  content->empty = whyEmpty(*content, run);
  const std::vector<BucketCell>& cells = content->delays.cells;
  content->cells.resize(cells.size());
  base::inHalves(cells.size(), kCellsWorthTwoThreads, [&](std::size_t from, std::size_t to) {
    for (std::size_t at = from; at < to; ++at) {
      BucketContent::Cell& of = content->cells[at];
      for (std::size_t figure = 0; figure < kCellFigures; ++figure) {
        of[figure] = measured(cells[at], static_cast<CellFigure>(figure), content->firstMeasured);
      }
      takeMeanCost(of[static_cast<std::size_t>(CellFigure::kCost)], content->delays, at);
    }
  });
  for (const BucketCell& cell : cells) {
    if (!cell.samples.empty()) {
      content->lastStep = std::max(content->lastStep, cell.samples[cell.samples.size() - 1].step);
    }
  }
  addRows(*content, run);
  addLayout(*content, run);
  if (!content->delays.empty()) {
    content->verdict = diagnosis::bucketVerdict(content->delays, run.analysis);
  }
  return content;
}

}  // namespace lockstep::ui
