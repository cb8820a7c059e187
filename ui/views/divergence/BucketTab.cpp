#include "ui/views/divergence/BucketTab.h"

#include <QComboBox>
#include <algorithm>
#include <utility>

#include "engine/trace/Event.h"
#include "ui/model/Format.h"
#include "ui/panels/OwnKeys.h"
#include "ui/table/TableView.h"
#include "ui/views/divergence/DivergenceRows.h"

namespace lockstep::ui {
namespace {

enum Scope { kMedians = 0, kIteration = 1 };

}  // namespace

BucketTab::BucketTab(QWidget* parent)
    : PlacesTab(tr("Rank by bucket"), parent),
      measure_(named(new QComboBox, "bucketMeasure", tr("What the cells show"))),
      scope_(named(new QComboBox, "bucketScope", tr("Which iterations"))),
      table_(named(new TableView(tr("Rank by bucket, as a table")), "bucketTable")) {
  keepOwnKeys(measure_);
  keepOwnKeys(scope_);
  for (std::size_t i = 0; i < analysis::kBucketMeasures; ++i) {
    const auto measure = static_cast<analysis::BucketMeasure>(i);
    measure_->addItem(titleOf(measure));
    measure_->setItemData(static_cast<int>(i), meaningOf(measure), Qt::ToolTipRole);
  }
  scope_->addItem(tr("Median of the measured iterations"));
  scope_->addItem(tr("One iteration"));
  scope_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  table_->fitOtherColumns();
  fillBar({labelOf(measure_, tr("Measure")), measure_, labelOf(scope_, tr("of")), scope_,
           Part::rest()});
  setBelow(table_, {300, 150}, 2);

  connect(measure_, &QComboBox::currentIndexChanged, this, &BucketTab::refresh);
  connect(scope_, &QComboBox::currentIndexChanged, this, &BucketTab::refresh);
  connect(table_, &TableView::rowChosen, this, [this](std::size_t row) {
    // Rows of the table are the cells, rank by rank.
    const auto buckets = static_cast<std::size_t>(facts_->delays.buckets);
    choose({row / buckets, static_cast<int>(row % buckets)});
  });
}

void BucketTab::setFacts(std::shared_ptr<const DivergenceFacts> facts) {
  DivergenceTab::setFacts(std::move(facts));
  // Places are rows and numbers, so they stay when buckets are added; one that is gone is not
  // selected.
  if (facts_ == nullptr || (selected_ && (selected_->row >= facts_->delays.ranks.size() ||
                                          selected_->bucket >= facts_->delays.buckets))) {
    selected_.reset();
  }
  refresh();
}

void BucketTab::refresh() {
  const auto iteration = state_ != nullptr ? state_->iteration() : std::nullopt;
  scope_->setItemText(kIteration, iteration ? tr("Iteration %1").arg(formatCount(*iteration))
                                            : tr("One iteration"));
  table_->setRows(facts_ != nullptr && !facts_->delays.empty() ? bucketRows(facts_, step())
                                                               : nullptr);
  if (selected_ && facts_ != nullptr) {
    showInTable(*selected_);
  }
  repaintSoon();
}

void BucketTab::iterationChanged() {
  if (scope_->currentIndex() == kIteration) {
    refresh();
  }
}

std::optional<std::uint32_t> BucketTab::step() const {
  if (scope_->currentIndex() != kIteration || state_ == nullptr) {
    return std::nullopt;
  }
  // Without a timeline that says which one is in sight, the last.
  return state_->iteration().value_or(facts_ != nullptr ? facts_->lastStep : 0);
}

BucketFrame BucketTab::frame(QSizeF size) const {
  return {size, static_cast<analysis::BucketMeasure>(measure_->currentIndex()), step(), selected_,
          pointer_};
}

void BucketTab::showInTable(const BucketPlace& place) {
  table_->showRow(place.row * static_cast<std::size_t>(facts_->delays.buckets) +
                  static_cast<std::size_t>(place.bucket));
}

// Medians, whatever the canvas shows: one sentence a rank is all that can be listened to.
QString BucketTab::description() const {
  QStringList parts;
  parts << tr("%1 ranks, %2 buckets.").arg(facts_->delays.ranks.size()).arg(facts_->delays.buckets);
  for (std::size_t row = 0; row < facts_->delays.ranks.size(); ++row) {
    double latest = 0;
    for (int bucket = 0; bucket < facts_->delays.buckets; ++bucket) {
      latest = std::max(latest, valueOf(facts_->delays.cell(row, bucket),
                                        analysis::BucketMeasure::kLateness, std::nullopt)
                                    .value_or(0));
    }
    parts
        << tr("Rank %1 comes up to %2 late.").arg(facts_->delays.ranks[row]).arg(formatMs(latest));
  }
  return parts.join(QLatin1Char(' '));
}

// In the timeline it is the sample's first collective: of medians that of the worst iteration.
void BucketTab::choose(const BucketPlace& place) {
  selected_ = place;
  showInTable(place);
  const BucketFrame now = frame(canvas()->size());
  const analysis::BucketSample* sample =
      sampleOf(facts_->delays.cell(place.row, place.bucket), now.measure, now.step);
  if (sample != nullptr) {
    trace::SpanRow first;  // as far as it is looked for
    first.kind = trace::EventKind::kCollective;
    first.id = sample->span;
    first.startTicks = sample->startTicks;
    first.durationTicks = 1;
    select(facts_->delays.ranks[place.row], first);
  }
  repaintSoon();
}

// What is selected in another view is a rank and a bucket here.
void BucketTab::selectionChanged() {
  if (facts_ == nullptr || facts_->delays.empty() || state_ == nullptr) {
    return;
  }
  const auto& span = state_->selection();
  if (!span || !span->hasBucket() || span->bucket >= facts_->delays.buckets) {
    return;
  }
  const auto& ranks = facts_->delays.ranks;
  const auto row = std::lower_bound(ranks.begin(), ranks.end(), span->rank());
  if (row != ranks.end() && *row == span->rank()) {
    selected_ = BucketPlace{static_cast<std::size_t>(row - ranks.begin()), span->bucket};
    showInTable(*selected_);
    repaintSoon();
  }
}

void BucketTab::pointerPressed(const PointerInput& input) {
  canvas()->setFocus(Qt::MouseFocusReason);
  if (facts_ == nullptr || facts_->delays.empty() || input.button != Qt::LeftButton) {
    return;
  }
  if (const auto place = scene().placeAt(input.position)) {
    choose(*place);
  }
}

}  // namespace lockstep::ui
