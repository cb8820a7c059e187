#include "ui/views/hooks/HooksView.h"

#include <QEvent>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/model/Format.h"
#include "ui/model/ViewState.h"
#include "ui/panels/EmptyState.h"
#include "ui/panels/hooks/LiveParametersPanel.h"
#include "ui/table/TableView.h"
#include "ui/views/hooks/HooksTable.h"

// The run, its numbers from the pool, and the canvas. Controls, table and selection stand in
// HooksViewControls.cpp.
namespace lockstep::ui {
namespace {

constexpr double kWheelPixels = 48;

}  // namespace

HooksView::HooksView(QWidget* parent) : RunView(parent) {
  setObjectName("hooksView");
  setAccessibleName(tr("Hooks"));
  buildControls();
  makeAction(tr("Next bucket"), {Qt::Key_Down}, [this] { movePick(1, 0); });
  makeAction(tr("Previous bucket"), {Qt::Key_Up}, [this] { movePick(-1, 0); });
  makeAction(tr("Next phase"), {Qt::Key_Right}, [this] { movePick(0, 1); });
  makeAction(tr("Previous phase"), {Qt::Key_Left}, [this] { movePick(0, -1); });
}

// Another run: all that was made of the one before is dropped, also what is still being made. The
// second run stays over it.
void HooksView::runChanged() {
  firstJob_.drop();
  contentJob_.drop();
  first_.reset();
  picked_.reset();
  hovered_.reset();
  scrollY_ = 0;
  stale_ = true;
  takeContent(nullptr);
  live_->setRun(model_);
  if (any()) {
    connect(analyser_, &RunAnalyser::ready, this, &HooksView::analysisReady);
    connect(state_, &ViewState::selectionChanged, this, &HooksView::takeSelection);
    connect(model_, &RunModel::changed, this, [this] {
      if (isVisible() && analyser_ != nullptr) {
        analyser_->want();
      }
    });
    // What the analysis does not see, such as the wire's bytes at the end, moves this.
    connect(model_, &RunModel::infoChanged, this, [this] {
      if (!model_->isLive()) {
        analysisReady();
      }
    });
    fillRanks();
    analysisReady();
  }
  fillOthers();
}

bool HooksView::eventFilter(QObject* watched, QEvent* event) {
  if (watched == canvas_ && event->type() == QEvent::Resize) {
    updateScrollBar();
  }
  return RunView::eventFilter(watched, event);
}

void HooksView::analysisReady() {
  stale_ = true;
  refresh();
}

// Only while in sight: what comes meanwhile is taken when the view is shown.
void HooksView::refresh() {
  if (!isVisible() || !any()) {
    return;
  }
  analyser_->want();
  const auto latest = analyser_->latest();
  if (!stale_ || firstJob_.busy() || latest == nullptr) {
    showState();
    return;
  }
  // Before the job begins: what comes while it works makes this stale again.
  stale_ = false;
  firstJob_.start([facts = hookFactsOf(*model_), latest] { return makeHookRun(facts, *latest); },
                  [this](std::shared_ptr<const HookRun> made) {
                    first_ = std::move(made);
                    fillRanks();
                    prepare();
                    refresh();  // when more came meanwhile
                  });
}

void HooksView::compareWith(const QString& path) {
  secondJob_.drop();
  otherPath_ = path;
  failure_.clear();
  second_.reset();
  fillOthers();
  if (path.isEmpty()) {
    // Without a second run there is nothing to wait for.
    prepare();
    return;
  }
  secondJob_.start([file = std::filesystem::path(path.toStdString())] { return readHookRun(file); },
                   [this](const base::Result<std::shared_ptr<const HookRun>>& read) {
                     if (read.ok()) {
                       second_ = read.value();
                     } else {
                       // The open run stays in sight; what failed is said above it.
                       failure_ = QString::fromStdString(read.error().message());
                       otherPath_.clear();
                       fillOthers();
                       showState();
                       emit failed(failure_);
                     }
                     prepare();
                   });
}

void HooksView::prepare() {
  if (first_ == nullptr) {
    showState();
    return;
  }
  // Called when either job ends and at each choice of a rank; only the latest counts.
  std::vector<std::shared_ptr<const HookRun>> runs{first_};
  if (second_ != nullptr) {
    runs.push_back(second_);
  }
  contentJob_.start(
      [runs, rank = chosenRank()] { return makeHooksContent(runs, rank); },
      [this](std::shared_ptr<const HooksContent> content) { takeContent(std::move(content)); });
}

void HooksView::takeContent(std::shared_ptr<const HooksContent> content) {
  content_ = std::move(content);
  // Filled before it is marked, which looks for the row.
  fillTable();
  table_->setColumnHidden(HooksTable::kRun, content_ == nullptr || !content_->compares());
  // Kept where the user or the selection chose one, even where this content has no such bar.
  if (content_ != nullptr && !picked_) {
    picked_ = content_->heaviest();
  }
  markRow();
  showState();
  updateScrollBar();
  describe();
  canvas_->repaintSoon();
}

HooksFrame HooksView::frame(QSizeF size) const {
  return {size, scrollY_, picked_, hovered_};
}

std::optional<QPointF> HooksView::positionOf(const HookPick& pick, std::size_t side) const {
  if (content_ == nullptr) {
    return std::nullopt;
  }
  const HooksFrame now = frame(canvas_->size());
  const QRectF rect = HooksScene(*content_, colours(), now).rectOf(pick, side);
  const QPointF middle = rect.center();
  return !rect.isEmpty() && QRectF(canvas_->rect()).contains(middle) ? std::optional(middle)
                                                                     : std::nullopt;
}

void HooksView::paintCanvas(DisplayList& list, QSizeF size) {
  if (content_ == nullptr) {
    list.fill(QRectF(QPointF(0, 0), size), colours().background);
    return;
  }
  const HooksFrame now = frame(size);
  HooksScene(*content_, colours(), now).draw(list);
}

void HooksView::pointerPressed(const PointerInput& input) {
  canvas_->setFocus(Qt::MouseFocusReason);
  if (content_ == nullptr || input.button != Qt::LeftButton) {
    return;
  }
  const HooksFrame now = frame(canvas_->size());
  if (const auto hit = HooksScene(*content_, colours(), now).pickAt(input.position)) {
    pick(*hit, true);
  }
}

void HooksView::pointerMoved(const PointerInput& input) {
  if (content_ == nullptr) {
    return;
  }
  const HooksFrame now = frame(canvas_->size());
  const HooksScene scene(*content_, colours(), now);
  const auto hit = scene.pickAt(input.position);
  canvas_->setCursor(hit ? Qt::PointingHandCursor : Qt::ArrowCursor);
  const QString tip = scene.tipAt(input.position);
  if (tip.isEmpty()) {
    QToolTip::hideText();
  } else {
    QToolTip::showText(canvas_->mapToGlobal(input.position.toPoint()), tip, canvas_);
  }
  if (hit != hovered_) {
    hovered_ = hit;
    canvas_->repaintSoon();
  }
}

void HooksView::pointerLeft() {
  hovered_.reset();
  canvas_->repaintSoon();
}

void HooksView::wheelTurned(const WheelInput& input) {
  scrollBar_->setValue(
      static_cast<int>(std::lround(scrollBar_->value() - input.stepsY * kWheelPixels)));
}

void HooksView::updateScrollBar() {
  double most = 0;
  if (content_ != nullptr) {
    const HooksFrame now = frame(canvas_->size());
    const HooksScene scene(*content_, colours(), now);
    most = std::max(0.0, scene.contentHeight() - canvas_->height());
  }
  // Less than a pixel is no reason for a scroll bar.
  setScrollable(most > 1 ? most : 0, static_cast<int>(kWheelPixels));
}

// What a screen reader says about the picture.
void HooksView::describe() {
  if (content_ == nullptr) {
    canvas_->setAccessibleDescription(tr("Nothing was measured yet."));
    return;
  }
  QStringList parts;
  for (const HookSide& side : content_->sides) {
    QStringList buckets;
    for (const analysis::HookBucket& bucket : side.buckets) {
      buckets
          << tr("%1 %2 in the median").arg(bucketTitle(bucket.bucket), formatMs(bucket.total.p50));
    }
    parts << tr("Hook %1 of %2: %3.").arg(side.run->hook, side.run->run, buckets.join(", "));
  }
  if (picked_) {
    parts
        << tr("Shown below: %1, %2.").arg(bucketTitle(picked_->bucket), phaseTitle(picked_->phase));
  }
  canvas_->setAccessibleDescription(parts.join(QLatin1Char(' ')));
}

}  // namespace lockstep::ui
