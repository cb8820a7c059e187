#include "ui/views/overlap/OverlapView.h"

#include <QScrollBar>
#include <QTabBar>
#include <QTabWidget>
#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/chart/Card.h"
#include "ui/model/StepSelection.h"
#include "ui/table/TableView.h"
#include "ui/table/WholeRows.h"
#include "ui/views/overlap/BucketTab.h"
#include "ui/views/overlap/OverlapTables.h"
#include "ui/views/overlap/OverlapWords.h"

namespace lockstep::ui {
OverlapView::OverlapView(QWidget* parent)
    : RunView(parent),
      job_(this),
      pictures_(named(new QTabWidget, "overlapPictures")),
      buckets_(new BucketTab),
      chart_(new QWidget) {
  makeCanvas(tr("Overlap"), chart_)->setMinimumSize(260, 180);
  fill(chart_, makeScrollBar());
  connect(scrollBar_, &QScrollBar::valueChanged, this, [this] { repaintChart(); });
  makeTables();
  makePictures();
  setPages(tr("No run is open. Overlap shows how much of the communication of each iteration is "
              "hidden behind computing, and why the rest is not."),
           tr("Open a run…"), Offer::kOpen, {pictures_});
  setFocusProxy(buckets_);
  makeActions();
  describe();
}

void OverlapView::makePictures() {
  QSplitter* iterations = split(Qt::Vertical, {{chart_, 3}, {tabs_, 1}});
  iterations->setChildrenCollapsible(true);
  new WholeRows(iterations, {stepsTable_, causesTable_, ranksTable_}, 0.25);
  pictures_->setDocumentMode(true);
  pictures_->addTab(buckets_, tr("Rank × bucket"));
  pictures_->addTab(iterations, tr("Iteration by iteration"));
  pictures_->setTabToolTip(kBuckets, tr("Which bucket costs which rank most, and why"));
  pictures_->setTabToolTip(kIterations,
                           tr("What each iteration is made of, and why communication is exposed"));
  // A click on a title leaves the keys to the picture.
  pictures_->tabBar()->setFocusPolicy(Qt::TabFocus);
  connect(pictures_, &QTabWidget::currentChanged, this, [this] {
    setFocusProxy(showsBuckets() ? static_cast<QWidget*>(buckets_) : chart_);
    refreshSoon(0);
  });
  connect(buckets_, &BucketTab::painted, this, &OverlapView::framePainted);
  connect(buckets_, &BucketTab::timelineRequested, this, &OverlapView::timelineRequested);
}

void OverlapView::showPicture(Picture picture) {
  pictures_->setCurrentIndex(picture);
}

bool OverlapView::showsBuckets() const {
  return pictures_->currentIndex() == kBuckets;
}

bool OverlapView::takesKeys() const {
  return showsBuckets() ? buckets_->content() != nullptr : content_ != nullptr;
}

void OverlapView::themeChanged() {
  buckets_->setTheme(theme_);
}

void OverlapView::makeTables() {
  tabs_ = named(new QTabWidget, "overlapTables");
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
    const analysis::StepTimes& times = content_->at(row).times;
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
  growing_ = std::make_shared<GrowingOverlapContent>();
  // Whose causes are listed is a choice about that run.
  rank_.reset();
  job_.drop();
  buckets_->setRun({model_, state_, analyser_});
  // Null first: nothing of the run before stays on the screen.
  take(nullptr);
  showsAll_ = true;
  if (analyser_ != nullptr) {
    connect(analyser_, &RunAnalyser::ready, this, &OverlapView::refresh);
  }
  if (state_ != nullptr) {
    connect(state_, &ViewState::selectionChanged, this, &OverlapView::selectionMoved);
    connect(state_, &ViewState::shownRanksChanged, this, &OverlapView::repaintChart);
  }
  if (model_ != nullptr) {
    connect(model_, &RunModel::loaded, this, &OverlapView::repaintChart);
  }
}

void OverlapView::hideEvent(QHideEvent* event) {
  QWidget::hideEvent(event);
  pointer_.reset();
}

// Makes the content of the latest analysis on a thread of the pool; a stale one is dropped. Each of
// the pictures has its own, and only while it is the one that is seen.
void OverlapView::refresh() {
  buckets_->refresh();
  // The same analysis makes the same content.
  if (chart_->isVisible() && takeLatest(analysed_)) {
    job_.start([growing = growing_, latest = analysed_] { return growing->refresh(*latest); },
               [this](std::shared_ptr<const OverlapContent> content) { take(std::move(content)); });
  }
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

QString OverlapView::headingAt(QPointF at) const {
  return content_ == nullptr ? QString() : scene().headingAt(at);
}

std::optional<OverlapStep> OverlapView::selected() const {
  if (state_ == nullptr || !state_->selection()) {
    return std::nullopt;
  }
  return OverlapStep{state_->selection()->rank(), state_->selection()->step};
}

void OverlapView::selectionMoved() {
  const auto step = selected();
  const auto row =
      step && content_ != nullptr ? content_->rowOf(step->rank, step->step) : std::nullopt;
  if (row) {
    stepsTable_->showRow(*row);
  } else {
    stepsTable_->showNoRow();
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
  if (rank == nullptr || !content_->rowOf(from->rank, from->step)) {
    const OverlapContent::Rank& first = content_->ranks.front();
    select({first.rank, first.steps.back().times.step});
    return;
  }
  const auto at = std::clamp<std::ptrdiff_t>(rank - content_->ranks.data() + ranks, 0,
                                             std::ssize(content_->ranks) - 1);
  const OverlapContent::Rank& to = content_->ranks[static_cast<std::size_t>(at)];
  // The same number on the other rank, or the next that it has.
  const auto entry =
      std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(to.firstFrom(from->step)) + steps, 0,
                                 static_cast<std::ptrdiff_t>(to.steps.size()) - 1);
  select({to.rank, to.number(static_cast<std::size_t>(entry))});
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
  OverlapFrame frame{canvas_->size(),           firstStep_, lastStep_,
                     scrollBar_->value() * 1.0, rank_,      selected()};
  // No card under a hand that drags.
  frame.pointer = pressed_ && dragged_ ? std::nullopt : pointer_;
  frame.live = model_ != nullptr && model_->isLive();
  if (state_ != nullptr) {
    frame.shown = state_->shownRanks();
  }
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
    repaintSoon();
  }
}

void OverlapView::describe() {
  canvas_->setAccessibleDescription(content_ == nullptr ? tr("Nothing is analysed yet.")
                                                        : overlap_words::description(*content_));
}

void OverlapView::paintCanvas(DisplayList& list, QSizeF size) {
  // Painting is what says that somebody looks (RunAnalyser::want).
  if (analyser_ != nullptr) {
    analyser_->want();
  }
  const Palette& palette = colours();
  if (content_ != nullptr && content_->rows > 0) {
    OverlapFrame now = frame();
    now.size = size;
    OverlapScene(*content_, palette, now).draw(list);
    return;
  }
  list.fill(QRectF(QPointF(0, 0), size), palette.background);
  QString sentence = tr("Analysing the run…");
  QString more = tr("Overlap is computed beside the window; it appears here by itself.");
  // Content without steps, or a model that is fed by hand, of which there will be no analysis.
  if (model_ != nullptr &&
      (content_ != nullptr || (model_->isLoaded() && model_->path().empty()))) {
    sentence =
        model_->isLive() ? tr("No iteration has ended yet") : tr("This run recorded no iteration");
    more = model_->isLive() ? tr("Bars appear with the first one.")
                            : tr("Capture was off, or the run ended before its first iteration.");
  }
  drawMessage(list, QRectF(QPointF(0, 0), size), sentence, more, palette.text, palette);
}

void OverlapView::canvasPainted() {
  // Here, since the scene of this frame knows how high all ranks are.
  updateScrollBar();
  emit framePainted();
}

void OverlapView::pointerPressed(const PointerInput& input) {
  chart_->setFocus(Qt::MouseFocusReason);
  if (input.button == Qt::LeftButton || input.button == Qt::MiddleButton) {
    pressed_ = input.position;
    pressedFirst_ = firstStep_;
    dragged_ = false;
  }
}

void OverlapView::pointerMoved(const PointerInput& input) {
  pointer_ = input.position;
  if (pressed_ && content_ != nullptr) {
    const double moved = input.position.x() - pressed_->x();
    dragged_ = dragged_ || std::abs(moved) > kDragFrom;
    if (dragged_) {
      // From where it was pressed, not step by step: rounding does not add up.
      const double first = pressedFirst_ - moved / scene().pixelsPerStep();
      setShown(first, first + lastStep_ - firstStep_);
    }
  }
  if (content_ != nullptr) {
    const OverlapScene now = scene();
    const bool clickable =
        now.stepAt(*pointer_) || now.reasonAt(*pointer_) || now.labelAt(*pointer_);
    canvas_->setCursor(dragged_ && pressed_ ? Qt::ClosedHandCursor
                       : clickable          ? Qt::PointingHandCursor
                                            : Qt::ArrowCursor);
  }
  repaintChart();
}

void OverlapView::pointerReleased(const PointerInput& input) {
  const bool click = pressed_ && !dragged_ && input.button == Qt::LeftButton;
  pressed_.reset();
  if (!click || content_ == nullptr) {
    return;
  }
  const OverlapScene now = scene();
  if (const auto step = now.stepAt(input.position)) {
    select(*step);
  } else if (const auto index = now.reasonAt(input.position)) {
    selectReason(content_->reasonsOf(rank_)[*index]);
  } else {
    chooseRankAt(input.position);
  }
  repaintChart();
}

// A second click on the same label goes back to all ranks.
void OverlapView::chooseRankAt(const QPointF& position) {
  if (const auto rank = scene().labelAt(position)) {
    rank_ = rank_ == rank ? std::nullopt : rank;
  }
}

void OverlapView::pointerDoubleClicked(const PointerInput& input) {
  if (content_ == nullptr) {
    return;
  }
  if (scene().stepAt(input.position) || scene().reasonAt(input.position)) {
    emit timelineRequested();
    return;
  }
  // Two clicks in haste are two clicks.
  chooseRankAt(input.position);
  repaintChart();
}

void OverlapView::wheelTurned(const WheelInput& input) {
  if (content_ == nullptr) {
    return;
  }
  if ((input.modifiers & Qt::ShiftModifier) != 0 || input.stepsX != 0) {
    pan((input.stepsX != 0 ? input.stepsX : -input.stepsY) * kPanStep);
  } else if (scene().charts().contains(input.position)) {
    // About the step under the pointer, which stays there.
    zoom(std::pow(kZoomStep, input.stepsY), scene().stepOf(input.position.x()));
  }
}

void OverlapView::makeActions() {
  makeZoomActions([this](double factor) { zoom(factor, (firstStep_ + lastStep_) / 2); },
                  [this](double part) { pan(part); });
  makeAction(tr("Show all iterations"), {Qt::Key_F}, [this] { showAll(); });
  const auto move = [this](int sideways, int ranks) {
    if (showsBuckets()) {
      buckets_->moveSelection(sideways, ranks);
    } else {
      moveSelection(sideways, ranks);
    }
  };
  makeAction(tr("Previous iteration or bucket"), {Qt::Key_Left, Qt::Key_PageUp},
             [move] { move(-1, 0); });
  makeAction(tr("Next iteration or bucket"), {Qt::Key_Right, Qt::Key_PageDown},
             [move] { move(1, 0); });
  makeAction(tr("The same of the rank above"), {Qt::Key_Up}, [move] { move(0, -1); });
  makeAction(tr("The same of the rank below"), {Qt::Key_Down}, [move] { move(0, 1); });
  makeAction(tr("Show the selection in the timeline"), {Qt::Key_Return}, [this] {
    if (showsBuckets()) {
      buckets_->showOnTimeline();
    } else {
      emit timelineRequested();
    }
  });
  makeAction(tr("Clear the selection"), {Qt::Key_Escape}, [this] {
    rank_.reset();
    if (state_ != nullptr) {
      state_->clearSelection();
    }
    repaintChart();
  });
  // The same keys over the cells; a table beside them keeps its own.
  buckets_->canvas()->addActions(viewActions());
}

}  // namespace lockstep::ui
