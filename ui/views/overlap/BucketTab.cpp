#include "ui/views/overlap/BucketTab.h"

#include <QComboBox>
#include <algorithm>
#include <utility>

#include "engine/trace/Event.h"
#include "ui/chart/Card.h"
#include "ui/model/Format.h"
#include "ui/model/StepSelection.h"
#include "ui/panels/OwnKeys.h"
#include "ui/panels/Spacing.h"
#include "ui/table/TableText.h"
#include "ui/table/TableView.h"
#include "ui/table/WholeRows.h"
#include "ui/views/overlap/OverlapTables.h"

namespace lockstep::ui {
namespace {

enum Rows { kAlike = 0, kEach = 1 };

}  // namespace

BucketTab::BucketTab(QWidget* parent)
    : CanvasPart(parent),
      figure_(named(new QComboBox, "bucketMeasure", tr("What the cells show"))),
      scope_(named(new QComboBox, "bucketScope", tr("Which iterations"))),
      rows_(named(new QComboBox, "bucketRows", tr("Which ranks share a row"))),
      timeline_(barButton(tr("Show on the timeline"), {},
                          tr("Show the worst iteration of the outlined cell in the timeline"))),
      toFile_(named(barButton(tr("Export CSV…")), "bucketExport", {},
                    tr("Write all cells, in all figures, into a file"))),
      table_(named(new TableView(tr("Rank by bucket, as a table")), "bucketTable")) {
  canvas_ = new Canvas(this, this);
  canvas_->setFocusPolicy(Qt::StrongFocus);
  canvas_->setAccessibleName(tr("Rank by bucket"));
  canvas_->setMinimumSize(260, 180);
  setFocusProxy(canvas_);
  timeline_->setObjectName("bucketTimeline");
  table_->fitOtherColumns();
  QSplitter* parts = split(Qt::Vertical, {{canvas_, 5}, {table_, 1}});
  parts->setChildrenCollapsible(true);
  parts->setCollapsible(0, false);
  new WholeRows(parts, {table_}, 0.18);
  fill(this, inColumn({makeBar(), {parts, 1}}, 0));

  connect(toFile_, &QToolButton::clicked, this,
          [this] { exportTable(this, *table_->model(), QStringLiteral("rank-by-bucket.csv")); });
  connect(timeline_, &QToolButton::clicked, this, &BucketTab::showOnTimeline);
  connect(table_, &TableView::rowChosen, this, [this](std::size_t cell) {
    // Rows of the table are the cells, rank by rank.
    const auto buckets = static_cast<std::size_t>(content_->delays.buckets);
    const std::size_t rank = cell / buckets;
    if (const auto row = content_->rowOf(content_->delays.ranks[rank], folded())) {
      choose({*row, static_cast<int>(cell % buckets)}, rank);
    }
  });
  connect(table_, &TableView::rowActivated, this, &BucketTab::showOnTimeline);
  describe();
}

QLayout* BucketTab::makeBar() {
  for (std::size_t i = 0; i < kCellFigures; ++i) {
    const auto figure = static_cast<CellFigure>(i);
    figure_->addItem(titleOf(figure));
    figure_->setItemData(static_cast<int>(i), meaningOf(figure), Qt::ToolTipRole);
  }
  // In the order of CellScope.
  scope_->addItems({tr("Mean"), tr("Median"), tr("One iteration")});
  for (const auto scope : {CellScope::kMean, CellScope::kMedian}) {
    scope_->setItemData(static_cast<int>(scope),
                        tr("Of the measured iterations, after the warm-up"), Qt::ToolTipRole);
  }
  rows_->addItems({tr("Alike in one row"), tr("Each rank")});
  rows_->hide();
  for (QComboBox* box : {figure_, scope_, rows_}) {
    keepOwnKeys(box);
    box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  }
  connect(figure_, &QComboBox::currentIndexChanged, this, &BucketTab::choiceChanged);
  connect(scope_, &QComboBox::currentIndexChanged, this, &BucketTab::choiceChanged);
  connect(rows_, &QComboBox::currentIndexChanged, this, [this] {
    selected_.reset();  // it was a row among others
    choiceChanged();
  });
  QHBoxLayout* bar = inRow(
      {labelOf(figure_, tr("Colour by")), figure_, scope_, rows_, Part::rest(), timeline_, toFile_},
      kSpace);
  bar->setContentsMargins(8, 4, 8, 4);
  return bar;
}

void BucketTab::runChanged() {
  analysed_ = nullptr;
  growing_ = std::make_shared<GrowingBucketContent>();
  job_.drop();
  selected_.reset();
  pointer_.reset();
  // Null first: nothing of the run before stays on the screen.
  take(nullptr);
  if (analyser_ != nullptr) {
    connect(analyser_, &RunAnalyser::ready, this, &BucketTab::refresh);
  }
  if (state_ != nullptr) {
    connect(state_, &ViewState::selectionChanged, this, &BucketTab::selectionMoved);
    connect(state_, &ViewState::iterationChanged, this, [this] {
      if (choice().scope == CellScope::kStep) {
        choiceChanged();
      } else {
        nameIteration();
      }
    });
  }
}

// While content is made no other is begun. Once it is there the canvas is painted, which asks
// again.
void BucketTab::refresh() {
  if (isVisible() && !job_.busy() && takeLatest(analysed_)) {
    job_.start([growing = growing_, latest = analysed_] { return growing->refresh(*latest); },
               [this](std::shared_ptr<const BucketContent> content) { take(std::move(content)); });
  }
}

void BucketTab::take(std::shared_ptr<const BucketContent> content) {
  const bool many = content != nullptr && content->alike.size() < content->each.size();
  rows_->setVisible(many);
  // A row of a live run may stand elsewhere now: what is selected is found again by its rank.
  if (selected_) {
    const int rank = content_->delays.ranks[content_->rows(folded())[selected_->row].ranks.front()];
    const auto row = content == nullptr ? std::nullopt : content->rowOf(rank, folded());
    selected_ = row && selected_->bucket < content->delays.buckets
                    ? std::optional(BucketPlace{*row, selected_->bucket})
                    : std::nullopt;
  }
  content_ = std::move(content);
  choiceChanged();
}

void BucketTab::choiceChanged() {
  nameIteration();
  table_->setRows(shows() ? bucketCells(content_, choice()) : nullptr);
  timeline_->setEnabled(shows() && scene().shown().has_value());
  toFile_->setEnabled(shows());
  if (selected_ && shows()) {
    showInTable(*scene().shownRank(), selected_->bucket);
  }
  describe();
  repaintSoon();
}

void BucketTab::nameIteration() {
  const auto iteration = state_ != nullptr ? state_->iteration() : std::nullopt;
  scope_->setItemText(
      static_cast<int>(CellScope::kStep),
      iteration ? tr("Iteration %1").arg(formatCount(*iteration)) : tr("One iteration"));
}

CellChoice BucketTab::choice() const {
  CellChoice choice{static_cast<CellFigure>(figure_->currentIndex()),
                    static_cast<CellScope>(scope_->currentIndex())};
  // Without a timeline that says which one is in sight, the last.
  const auto iteration = state_ != nullptr ? state_->iteration() : std::nullopt;
  choice.step = iteration.value_or(content_ != nullptr ? content_->lastStep : 0);
  return choice;
}

bool BucketTab::folded() const {
  return rows_->currentIndex() == kAlike;
}

BucketFrame BucketTab::frame(QSizeF size) const {
  BucketFrame frame{size, choice(), folded(), selected_, std::nullopt, pointer_};
  if (state_ != nullptr && state_->selection()) {
    frame.step = state_->selection()->step;
  }
  return frame;
}

BucketScene BucketTab::scene() const {
  return {*content_, colours(), frame(canvas_->size())};
}

void BucketTab::showInTable(std::size_t rank, int bucket) {
  table_->showRow(rank * static_cast<std::size_t>(content_->delays.buckets) +
                  static_cast<std::size_t>(bucket));
}

// In the timeline it is the sample's first collective: of means that of the worst iteration.
void BucketTab::choose(const BucketPlace& place, std::optional<std::size_t> chosen) {
  selected_ = place;
  timeline_->setEnabled(true);
  const std::size_t rank = chosen.value_or(
      content_->mostOf(content_->rows(folded())[place.row], place.bucket, choice()));
  showInTable(rank, place.bucket);
  if (const auto* sample = content_->sampleOf(rank, place.bucket, choice())) {
    select(rank, *sample);
  }
  repaintSoon();
}

void BucketTab::select(std::size_t rank, const analysis::BucketSample& sample) {
  if (model_ == nullptr || state_ == nullptr) {
    return;
  }
  const int number = content_->delays.ranks[rank];
  trace::SpanRow first;  // as far as it is looked for
  first.kind = trace::EventKind::kCollective;
  first.id = sample.span;
  first.startTicks = sample.startTicks;
  first.durationTicks = 1;
  auto span = spanOf(*model_, number, first);
  if (!span) {
    span = stepSpan(*model_, number, sample.step);
  }
  if (span) {
    choosing_ = true;
    state_->select(span);
    choosing_ = false;
  }
}

void BucketTab::showOnTimeline() {
  if (!shows() || model_ == nullptr || state_ == nullptr) {
    return;
  }
  const BucketScene now = scene();
  const auto rank = now.shownRank();
  const auto* sample = rank ? content_->sampleOf(*rank, now.shown()->bucket, choice()) : nullptr;
  if (sample == nullptr) {
    return;
  }
  const auto& costliest = content_->verdict.costliest;
  if (content_->delays.ranks.size() > kFewRanks) {
    std::vector<int> beside{content_->delays.ranks[*rank]};
    if (const auto late = costliest ? costliest->lateRank() : std::nullopt) {
      beside.push_back(*late);
    }
    state_->showRanks(beside);
  }
  showIteration(*model_, *state_, content_->delays.ranks[*rank], sample->step, std::nullopt);
  select(*rank, *sample);
  emit timelineRequested();
}

void BucketTab::moveSelection(int buckets, int rows) {
  if (!shows()) {
    return;
  }
  const auto from = scene().shown().value_or(BucketPlace{0, 0});
  const auto last = static_cast<int>(content_->rows(folded()).size()) - 1;
  choose({static_cast<std::size_t>(std::clamp(static_cast<int>(from.row) + rows, 0, last)),
          std::clamp(from.bucket + buckets, 0, content_->delays.buckets - 1)});
}

// What is selected in another view is a rank and a bucket here.
void BucketTab::selectionMoved() {
  repaintSoon();
  if (choosing_ || !shows() || state_ == nullptr) {
    return;
  }
  const auto& span = state_->selection();
  if (!span || !span->hasBucket() || span->bucket >= content_->delays.buckets) {
    return;
  }
  if (const auto row = content_->rowOf(span->rank(), folded())) {
    selected_ = BucketPlace{*row, span->bucket};
    timeline_->setEnabled(true);
    showInTable(*content_->indexOf(span->rank()), span->bucket);
  }
}

void BucketTab::paintCanvas(DisplayList& list, QSizeF size) {
  if (content_ != nullptr) {
    BucketScene(*content_, colours(), frame(size)).draw(list);
    return;
  }
  const QRectF all(QPointF(0, 0), size);
  list.fill(all, colours().background);
  const bool nothing = model_ != nullptr && model_->isLoaded() && model_->path().empty();
  drawMessage(list, all, nothing ? tr("No bucket was communicated") : tr("Analysing the run…"),
              nothing ? QString()
                      : tr("Ranks and buckets are compared beside the window; it appears here by "
                           "itself."),
              colours().text, colours());
}

QString BucketTab::headingAt(QPointF /*at*/) const {
  return termOf(choice().figure);
}

// Painting is what says that somebody looks (RunAnalyser::want).
void BucketTab::canvasPainted() {
  refresh();
  emit painted();
}

void BucketTab::pointerPressed(const PointerInput& input) {
  canvas_->setFocus(Qt::MouseFocusReason);
  if (!shows() || input.button != Qt::LeftButton) {
    return;
  }
  const BucketScene now = scene();
  if (const auto place = now.placeAt(input.position)) {
    choose(*place);
  } else if (const auto bars = now.bars()) {
    if (const auto* sample = bars->sampleAt(input.position)) {
      select(*now.shownRank(), *sample);
      repaintSoon();
    }
  }
}

void BucketTab::pointerDoubleClicked(const PointerInput& input) {
  if (!shows() || input.button != Qt::LeftButton) {
    return;
  }
  const BucketScene now = scene();
  if (now.placeAt(input.position)) {
    showOnTimeline();
  } else if (const auto bars = now.bars(); bars && bars->sampleAt(input.position) != nullptr) {
    const auto* sample = bars->sampleAt(input.position);
    showIteration(*model_, *state_, content_->delays.ranks[*now.shownRank()], sample->step,
                  std::nullopt);
    select(*now.shownRank(), *sample);
    emit timelineRequested();
  }
}

// What stands above it: a matrix cannot be listened to, and the table has its cells.
void BucketTab::describe() {
  if (content_ == nullptr) {
    canvas_->setAccessibleDescription(tr("Nothing is analysed yet."));
    return;
  }
  if (!content_->empty.isEmpty()) {
    canvas_->setAccessibleDescription(content_->empty);
    return;
  }
  canvas_->setAccessibleDescription(QStringLiteral("%1. %2.").arg(
      content_->headline, QString::fromStdString(diagnosis::textOf(content_->verdict))));
}

}  // namespace lockstep::ui
