#include "ui/views/live/LiveTable.h"

#include <array>
#include <cmath>
#include <utility>

#include "engine/base/BytesText.h"

namespace lockstep::ui {
namespace {

struct Column {
  const char* title;
  const char* tip;
  int decimals;
};

constexpr std::array<Column, 11> kColumns{
    {{"Rank", "The rank", 0},
     {"Iteration", "The iteration that it is in, or ended last", 0},
     {"Buckets reduced", "Of that iteration", 0},
     {"Loss", "Of its latest step, over its own batch", 4},
     {"Steps/s", "Now, or over the whole run once it has ended", 2},
     {"Step ms", "The last iteration that ended, in ms", 3},
     {"Overlap %", "Median of the measured iterations", 2},
     {"Exposed ms", "Median of the measured iterations, in ms", 3},
     {"Waiting ms", "For peers, a step: median of the measured iterations, in ms", 3},
     {"CPU %", "Of the whole process; 100 is one core", 0},
     {"Memory MiB", "Resident", 0}}};

std::optional<double> reduced(const LiveRank& rank) {
  if (rank.buckets.empty()) {
    return std::nullopt;
  }
  double count = 0;
  for (const LiveBucket& bucket : rank.buckets) {
    count += bucket.reduced ? 1 : 0;
  }
  return count;
}

const analysis::RankAnalysis* analysisOf(const AnalysedRun* run, int rank) {
  for (std::size_t i = 0; run != nullptr && i < run->analysis.ranks.size(); ++i) {
    if (run->analysis.ranks[i].rank == rank) {
      return &run->analysis.ranks[i];
    }
  }
  return nullptr;
}

std::optional<double> value(const LiveRank& rank, const AnalysedRun* run, int column) {
  const analysis::RankAnalysis* of = analysisOf(run, rank.rank);
  switch (column) {
    case 0:
      return rank.rank;
    case 1:
      return rank.step ? std::optional<double>(*rank.step) : std::nullopt;
    case 2:
      return reduced(rank);
    case 3:
      return rank.loss;
    case 4:
      return rank.stepsPerSecond;
    case 5:
      return rank.stepMs;
    case 6:
      return of == nullptr ? std::nullopt : of->overlapPercent;
    case 7:
      return of == nullptr ? std::nullopt : of->exposedMs;
    case 8:
      return of == nullptr ? std::nullopt : of->waitingMs;
    case 9:
      return rank.cpuPercent;
    case 10:
      return rank.residentBytes ? std::optional(*rank.residentBytes / base::kMiB) : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

void LiveTable::setContent(std::shared_ptr<const LiveContent> content,
                           std::shared_ptr<const AnalysedRun> run) {
  const auto rowsOf = [](const auto& of) { return of == nullptr ? 0 : of->ranks.size(); };
  const bool sameRows = rowsOf(content) == rowsOf(content_);
  if (!sameRows) {
    beginResetModel();
  }
  content_ = std::move(content);
  run_ = std::move(run);
  if (!sameRows) {
    endResetModel();
  } else if (rowCount() > 0) {
    emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
  }
}

int LiveTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || content_ == nullptr ? 0 : static_cast<int>(content_->ranks.size());
}

int LiveTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(kColumns.size());
}

QVariant LiveTable::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) {
    return {};
  }
  const LiveRank& rank = content_->ranks[static_cast<std::size_t>(index.row())];
  const auto number = value(rank, run_.get(), index.column());
  switch (role) {
    case Qt::DisplayRole:
      return !number ? QString()
             : index.column() == 2
                 ? QStringLiteral("%1 of %2").arg(*number).arg(rank.buckets.size())
             : !std::isfinite(*number)
                 ? QStringLiteral("not a number")
                 : QString::number(*number, 'f',
                                   kColumns[static_cast<std::size_t>(index.column())].decimals);
    case Qt::EditRole:
      return number ? QVariant(*number) : QVariant();
    case Qt::TextAlignmentRole:
      return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
    default:
      return {};
  }
}

QVariant LiveTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) {
    return {};
  }
  const Column& column = kColumns[static_cast<std::size_t>(section)];
  switch (role) {
    case Qt::DisplayRole:
      return QString::fromLatin1(column.title);
    case Qt::ToolTipRole:
      return QString::fromLatin1(column.tip);
    case Qt::TextAlignmentRole:
      return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
    default:
      return {};
  }
}

}  // namespace lockstep::ui
