#include "ui/views/overlap/OverlapView.h"

#include <QScrollBar>
#include <QTabWidget>
#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/table/TableView.h"
#include "ui/views/overlap/OverlapTables.h"
#include "ui/views/overlap/OverlapWords.h"
#include "ui/views/overlap/StepSelection.h"

namespace lockstep::ui {

OverlapView::OverlapView(QWidget* parent) : RunView(parent), job_(this) {
  chart_ = new QWidget;
  makeCanvas(tr("Overlap"), chart_)->setMinimumSize(260, 180);
  makeScrollBar(chart_);
  connect(scrollBar_, &QScrollBar::valueChanged, this, [this] { repaintChart(); });

  makeTables();
  QSplitter* content = split(Qt::Vertical, {{chart_, 3}, {tabs_, 1}});
  content->setChildrenCollapsible(true);
  setPages(tr("No run is open. Overlap shows how much of the communication of each iteration is "
              "hidden behind computing, and why the rest is not."),
           tr("Open a run…"), Offer::kOpen, {content});
  setFocusProxy(chart_);
  makeActions();
  describe();
}

void OverlapView::makeTables() {
  tabs_ = new QTabWidget;
  tabs_->setDocumentMode(true);
  stepsTable_ = new TableView(tr("Iterations and their overlap"));
  causesTable_ = new TableView(tr("Causes of exposed communication"));
  ranksTable_ = new TableView(tr("Medians of each rank"));
  fillTables();
  for (TableView* table : {stepsTable_, causesTable_, ranksTable_}) {
    table->fitTitles();
  }
  causesTable_->setColumnWidth(0, 190);
  tabs_->addTab(stepsTable_, tr("Iterations"));
  tabs_->addTab(causesTable_, tr("Causes"));
  tabs_->addTab(ranksTable_, tr("Ranks"));
  connect(stepsTable_, &TableView::rowChosen, this, [this](std::size_t row) {
    const analysis::StepTimes& times = content_->steps[row].times;
    select({times.rank, times.step});
  });
  connect(causesTable_, &TableView::rowChosen, this,
          [this](std::size_t row) { selectReason(content_->reasons[row]); });
  for (TableView* table : {stepsTable_, causesTable_}) {
    connect(table, &QTableView::doubleClicked, this, &OverlapView::timelineRequested);
  }
}

void OverlapView::fillTables() {
  stepsTable_->setRows(overlapSteps(content_));
  causesTable_->setRows(overlapCauses(content_));
  ranksTable_->setRows(overlapRanks(content_));
}

void OverlapView::runChanged() {
  analysed_ = nullptr;
  // Whose causes are listed is a choice about that run.
  rank_.reset();
  job_.drop();
  // Null first: nothing of the run before stays on the screen.
  take(nullptr);
  showsAll_ = true;
  if (analyser_ != nullptr) {
    connect(analyser_, &RunAnalyser::ready, this, &OverlapView::refresh);
  }
  if (state_ != nullptr) {
    connect(state_, &ViewState::selectionChanged, this, &OverlapView::selectionMoved);
  }
  if (model_ != nullptr) {
    connect(model_, &RunModel::loaded, this, &OverlapView::repaintChart);
  }
}

void OverlapView::hideEvent(QHideEvent* event) {
  QWidget::hideEvent(event);
  pointer_.reset();
}

// Makes the content of the latest analysis on a thread of the pool; a stale one is dropped.
void OverlapView::refresh() {
  if (analyser_ == nullptr || !isVisible()) {
    return;
  }
  analyser_->want();
  auto latest = analyser_->latest();
  // The same analysis makes the same content.
  if (latest == nullptr || latest == analysed_) {
    return;
  }
  analysed_ = latest;
  job_.start([latest = std::move(latest)] { return overlapContent(*latest); },
             [this](std::shared_ptr<const OverlapContent> content) { take(std::move(content)); });
}

void OverlapView::take(std::shared_ptr<const OverlapContent> content) {
  content_ = std::move(content);
  fillTables();
  // The rank whose causes were listed is not in this content.
  if (content_ != nullptr && rank_ && content_->rank(*rank_) == nullptr) {
    rank_.reset();
  }
  // Follows a run that grows, unless the user has zoomed in.
  if (showsAll_) {
    showAll();
  }
  selectionMoved();
  describe();
}

std::optional<OverlapStep> OverlapView::selected() const {
  if (state_ == nullptr || !state_->selection()) {
    return std::nullopt;
  }
  return OverlapStep{state_->selection()->rank(), state_->selection()->step};
}

void OverlapView::selectionMoved() {
  const auto step = selected();
  const auto* shown =
      step && content_ != nullptr ? content_->step(step->rank, step->step) : nullptr;
  if (shown == nullptr) {
    stepsTable_->showNoRow();
  } else {
    stepsTable_->showRow(static_cast<std::size_t>(shown - content_->steps.data()));
  }
  repaintChart();
}

void OverlapView::select(const OverlapStep& step) {
  if (model_ != nullptr && state_ != nullptr) {
    showIteration(*model_, *state_, step.rank, step.step, std::nullopt);
    bringIntoSight(step);
  }
}

void OverlapView::selectReason(const analysis::TailReason& reason) {
  if (model_ != nullptr && state_ != nullptr) {
    // A cause without a collective of its own shows the step alone.
    const auto at =
        reason.worst.ticks == 0 ? std::nullopt : std::optional(model_->toNs(reason.worst.ticks));
    showIteration(*model_, *state_, reason.worst.rank, reason.worst.step, at);
    bringIntoSight({reason.worst.rank, reason.worst.step});
  }
}

void OverlapView::moveSelection(int steps, int ranks) {
  if (content_ == nullptr || content_->ranks.empty()) {
    return;
  }
  const auto from = selected();
  const OverlapContent::Rank* rank = from ? content_->rank(from->rank) : nullptr;
  // Nothing is selected here: the keys begin at the latest step of the first rank.
  if (rank == nullptr || content_->step(from->rank, from->step) == nullptr) {
    const OverlapContent::Rank& first = content_->ranks.front();
    select({first.rank, first.numbers.back()});
    return;
  }
  const auto at = std::clamp<std::ptrdiff_t>(rank - content_->ranks.data() + ranks, 0,
                                             std::ssize(content_->ranks) - 1);
  const OverlapContent::Rank& to = content_->ranks[static_cast<std::size_t>(at)];
  // The same number on the other rank, or the next that it has.
  const auto near = std::lower_bound(to.numbers.begin(), to.numbers.end(), from->step);
  const auto entry =
      std::clamp<std::ptrdiff_t>(near - to.numbers.begin() + steps, 0, std::ssize(to.numbers) - 1);
  select({to.rank, to.numbers[static_cast<std::size_t>(entry)]});
}

void OverlapView::setShown(double first, double last) {
  if (content_ == nullptr) {
    return;
  }
  const double from = content_->firstStep;
  const double to = content_->lastStep + 1.0;
  // Four steps at least, or what there is.
  const double length = std::clamp(last - first, std::min(4.0, to - from), to - from);
  firstStep_ = std::clamp(first, from, to - length);
  lastStep_ = firstStep_ + length;
  showsAll_ = length >= to - from - 1e-9;
  repaintChart();
}

void OverlapView::showAll() {
  showsAll_ = true;
  if (content_ != nullptr && !content_->ranks.empty()) {
    setShown(content_->firstStep, content_->lastStep + 1.0);
  }
}

void OverlapView::zoom(double factor, double aboutStep) {
  const double before = lastStep_ - firstStep_;
  setShown(aboutStep - (aboutStep - firstStep_) * factor,
           aboutStep - (aboutStep - firstStep_) * factor + before * factor);
}

void OverlapView::pan(double part) {
  const double by = part * (lastStep_ - firstStep_);
  setShown(firstStep_ + by, lastStep_ + by);
}

void OverlapView::bringIntoSight(const OverlapStep& step) {
  const double length = lastStep_ - firstStep_;
  if (step.step < firstStep_ || step.step + 1 > lastStep_) {
    setShown(step.step + 0.5 - length / 2, step.step + 0.5 + length / 2);
  }
  if (content_ != nullptr) {
    const OverlapScene now = scene();
    for (const OverlapScene::Row& row : now.rows()) {
      if (row.rank->rank != step.rank) {
        continue;
      }
      // The least scrolling that brings the row in: its nearer edge comes to the edge of the
      // charts.
      if (row.plot.top() < now.charts().top()) {
        scrollBar_->setValue(scrollBar_->value() -
                             static_cast<int>(now.charts().top() - row.plot.top()));
      } else if (row.plot.bottom() > now.charts().bottom()) {
        scrollBar_->setValue(scrollBar_->value() + static_cast<int>(std::ceil(
                                                       row.plot.bottom() - now.charts().bottom())));
      }
    }
  }
}

OverlapFrame OverlapView::frame() const {
  OverlapFrame frame;
  frame.size = canvas_->size();
  frame.firstStep = firstStep_;
  frame.lastStep = lastStep_;
  frame.scrollY = scrollBar_->value();
  frame.rank = rank_;
  frame.selected = selected();
  // No card under a hand that drags.
  frame.pointer = pressed_ && dragged_ ? std::nullopt : pointer_;
  frame.live = model_ != nullptr && model_->isLive();
  return frame;
}

OverlapScene OverlapView::scene() const {
  return {*content_, colours(), frame()};
}

void OverlapView::updateScrollBar() {
  setScrollable(content_ == nullptr ? 0 : scene().maximumScroll(), 40);
}

void OverlapView::repaintChart() {
  updateScrollBar();
  if (isVisible()) {
    canvas_->repaintSoon();
  }
}

void OverlapView::describe() {
  canvas_->setAccessibleDescription(content_ == nullptr ? tr("Nothing is analysed yet.")
                                                        : overlap_words::description(*content_));
}

}  // namespace lockstep::ui
