#include "ui/views/timeline/TimelineView.h"

#include <QAction>
#include <QScrollBar>
#include <algorithm>
#include <cmath>
#include <iterator>

#include "engine/base/Clock.h"
#include "engine/trace/Event.h"
#include "ui/canvas/TextMetrics.h"
#include "ui/model/Format.h"
#include "ui/views/timeline/CounterMenu.h"
#include "ui/views/timeline/CounterPanel.h"
#include "ui/views/timeline/CounterTable.h"
#include "ui/views/timeline/FindLine.h"
#include "ui/views/timeline/FirstLook.h"
#include "ui/views/timeline/TimelineBar.h"
#include "ui/views/timeline/TimelineOverview.h"
#include "ui/views/timeline/TimelineScene.h"

namespace lockstep::ui {
namespace {

constexpr std::size_t kUnpaintedAtMost = 1u << 18;
constexpr qint64 kDescribeEveryMs = 1000;

}  // namespace

TimelineView::TimelineView(QWidget* parent) : RunView(parent) {
  overview_ = new TimelineOverview(this);
  makeCanvas(QString(), this);
  findLine_ = new FindLine(this);
  findLine_->hide();
  counterMenu_ = new CounterMenu(this);
  counterPanel_ = new CounterPanel(this);
  counterPanel_->hide();
  bar_ = new TimelineBar(this);
  content_ = new QWidget(this);
  content_->setFocusProxy(this);  // its parts hand the focus to what they lie in
  inColumn(content_, overview_, wide(makeScrollBar()), counterPanel_, findLine_, bar_);
  setPages(
      tr("No run is open. Start an experiment or open a run file, and its iterations appear here."),
      tr("Run the 2-rank demo"), Offer::kDemo, {content_});
  overview_->setAnnotations(&notes_);
  controller_.setNotes(&notes_);
  controller_.setFinder(&finder_);
  connect(&notes_, &Annotations::changed, this, [this] { canvas_->repaintSoon(); });
  connect(&notes_, &Annotations::failed, this, &TimelineView::problem);
  connect(&finder_, &SpanFinder::changed, this, [this] {
    findLine_->showResult(finder_);
    canvas_->repaintSoon();
  });
  connect(findLine_, &FindLine::queryChanged, this,
          [this](const QString& text) { finder_.setQuery(SpanQuery(text)); });
  connect(findLine_, &FindLine::goWanted, this, &TimelineView::goToMatch);
  connect(findLine_, &FindLine::closeWanted, this, &TimelineView::closeFind);
  setAccessibleName(tr("Timeline"));
  connect(scrollBar_, &QScrollBar::valueChanged, this, [this](int value) {
    if (std::abs(controller_.scrollY() - value) >= 1) {
      controller_.setScroll(value);
      canvas_->repaintSoon();
    }
  });
  makeActions();
  makeMoreActions();
  makeCounterActions();
  updateScrollBar();
  describe();
}

TimelineView::~TimelineView() {
  // What looks at the notes goes first.
  dropNoteEditor();
  delete overview_;
}

void TimelineView::runChanged() {
  // The canvas has its size before anything asks what it shows.
  content_->setGeometry(contentsRect());
  content_->layout()->activate();
  unpainted_.clear();
  latency_.clear();
  controller_.setState(state_);
  controller_.setModel(model_);
  controller_.countersChanged();
  overview_->setState(state_);
  overview_->setModel(model_);
  bar_->setState(state_);
  bar_->setModel(model_);
  counterMenu_->setState(state_);
  counterMenu_->setModel(model_);
  counterPanel_->setState(state_);
  counterPanel_->setModel(model_);
  finder_.setModel(model_);
  setFrozen(false);
  openNotes();
  if (state_ != nullptr) {
    const auto repaint = [this] { canvas_->repaintSoon(); };
    connect(state_, &ViewState::rangeChanged, this, [this] {
      controller_.rangeChanged();
      updateScrollBar();
      canvas_->repaintSoon();
    });
    connect(state_, &ViewState::hoveredChanged, this, repaint);
    connect(state_, &ViewState::colourByChanged, this, repaint);
    connect(state_, &ViewState::filterChanged, this, repaint);
    connect(state_, &ViewState::countersChanged, this, [this] {
      controller_.countersChanged();
      changedByUser();
      describe();
    });
    connect(state_, &ViewState::selectionChanged, this, [this] {
      canvas_->repaintSoon();
      describe();
    });
    connect(state_, &ViewState::followLiveChanged, this, [this] { modelChanged(); });
  }
  if (model_ != nullptr) {
    connect(model_, &RunModel::changed, this, &TimelineView::modelChanged);
    connect(model_, &RunModel::infoChanged, this, [this] { canvas_->repaintSoon(); });
    connect(model_, &RunModel::loaded, this, &TimelineView::modelLoaded);
    connect(model_, &RunModel::liveSpansApplied, this,
            [this](const std::vector<std::uint64_t>& endTicks) {
              if (watchedSince_ && !frozen_ &&
                  unpainted_.size() + endTicks.size() <= kUnpaintedAtMost) {
                std::copy_if(endTicks.begin(), endTicks.end(), std::back_inserter(unpainted_),
                             [this](std::uint64_t ticks) { return ticks >= *watchedSince_; });
              }
            });
    modelChanged();
    if (model_->isLoaded()) {
      modelLoaded();
    }
  }
  changedByUser();
}

void TimelineView::themeChanged() {
  overview_->setTheme(theme_);
  bar_->setTheme(theme_);
}

bool TimelineView::takesKeys() const {
  return controller_.ready() && model_->spanCount() > 0;
}

QString TimelineView::rendererName() const {
  return canvas_->rendererName();
}

std::optional<QPointF> TimelineView::positionOf(const Span& span) const {
  if (!controller_.ready()) {
    return std::nullopt;
  }
  const TimelineScene scene(*model_, controller_.layout(), colours(), controller_.frame());
  const auto rect = scene.rectOf(span);
  if (!rect) {
    return std::nullopt;
  }
  const QPointF middle(canvas_->mapTo(this, QPoint(0, 0)) + rect->center());
  return canvas_->geometry().contains(middle.toPoint()) ? std::optional(middle) : std::nullopt;
}

void TimelineView::goToIteration(std::uint32_t iteration) {
  if (controller_.ready()) {
    controller_.goToIteration(iteration);
    changedByUser();
  }
}

void TimelineView::modelChanged() {
  if (model_ == nullptr || frozen_) {
    return;
  }
  controller_.modelChanged();
  updateScrollBar();
  canvas_->repaintSoon();
  if (!described_.isValid() || described_.elapsed() > kDescribeEveryMs) {
    describe();
  }
}

// The first look at a run: its newest iterations while it is live, its last when it came to grief
// in them, those around a fault of the experiment, typical ones when it ended well.
void TimelineView::modelLoaded() {
  if (state_ != nullptr && state_->range().empty()) {
    if (model_->isLive()) {
      state_->setFollowLive(true);
    } else if (const TimeRange range = firstLook(); !range.empty()) {
      state_->setRange(range, ViewState::RangeChange::kSilent);
    }
  }
  modelChanged();
}

TimeRange TimelineView::firstLook() const {
  const trace::RunState state = model_->info().state;
  const bool broken = state == trace::RunState::kFailed || state == trace::RunState::kRecorderDied;
  const bool struck = model_->holds(trace::EventKind::kFault);
  return broken && !struck && model_->spanCount() > 0 ? controller_.lastIterations()
                                                      : ui::firstLook(*model_);
}

void TimelineView::changedByUser() {
  updateScrollBar();
  if (controller_.ready()) {
    canvas_->setCursor(controller_.cursor());
  }
  canvas_->repaintSoon();
}

void TimelineView::updateScrollBar() {
  setScrollable(controller_.maximumScroll(), 30);
  scrollBar_->setValue(static_cast<int>(std::lround(controller_.scrollY())));
}

void TimelineView::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  controller_.setSize(canvas_->size());
  updateScrollBar();
}

// What ends while nobody can see it is late for no one. Minimised counts as hidden.
void TimelineView::showEvent(QShowEvent* event) {
  RunView::showEvent(event);
  watchedSince_ = base::ticks();
}

void TimelineView::hideEvent(QHideEvent* event) {
  QWidget::hideEvent(event);
  watchedSince_.reset();
  unpainted_.clear();
}

void TimelineView::paintCanvas(DisplayList& list, QSizeF size) {
  // The canvas's own size rules: it may be laid out after this widget was.
  controller_.setSize(size);
  if (!controller_.ready() || model_->spanCount() == 0 || state_->range().empty()) {
    paintEmptyState(list, size);
    return;
  }
  TimelineFrame frame = controller_.frame();
  TimelineScene(*model_, controller_.layout(), colours(), std::move(frame)).draw(list);
}

void TimelineView::canvasPainted() {
  if (!unpainted_.empty() && controller_.ready() && isVisible()) {
    const std::uint64_t now = base::ticks();
    const TimeRange shown = state_->range();
    std::vector<std::uint64_t> ahead;
    for (const std::uint64_t ticks : unpainted_) {
      const double ns = model_->toNs(ticks);
      // A followed run may have moved past what came late: that counts all the more.
      const bool inSight = (ns >= shown.startNs || state_->followsLive()) && ns <= shown.endNs;
      if (inSight && ticks <= now) {
        latency_.add(static_cast<double>(now - ticks) * model_->nsPerTick() / 1e6);
      } else if (ns > shown.endNs && state_->followsLive()) {
        ahead.push_back(ticks);  // this frame came before the range followed; the next shows it
      }
    }
    unpainted_ = std::move(ahead);
  } else {
    unpainted_.clear();
  }
  emit framePainted();
}

void TimelineView::paintEmptyState(DisplayList& list, QSizeF size) const {
  const Palette& palette = colours();
  list.fill(QRectF(QPointF(0, 0), size), palette.background);
  QString title;
  QString more;
  if (!failure_.isEmpty()) {
    title = tr("This run cannot be shown");
    more = failure_;
  } else if (model_ == nullptr) {
    return;
  } else if (!model_->isLoaded() && !model_->path().empty()) {
    title = tr("Reading the run…");
  } else if (model_->isLive()) {
    title = tr("The run is starting");
    more = tr("The timeline moves as soon as the first rank reports.");
  } else {
    title = tr("This run recorded no events");
    more = tr("Capture was off, or the run ended before a rank reported.");
  }
  const QRectF middle(20, size.height() / 2 - 30, size.width() - 40, 24);
  list.text(middle, title, palette.text, FontRole::kBold, Qt::AlignHCenter | Qt::AlignVCenter);
  list.text(middle.translated(0, 26), more, palette.textMuted, FontRole::kNormal,
            Qt::AlignHCenter | Qt::AlignVCenter);
}

// What a screen reader says about the picture.
void TimelineView::describe() {
  described_.start();
  if (!controller_.ready() || model_->spanCount() == 0) {
    setAccessibleDescription(tr("No events."));
    return;
  }
  const TimeRange range = state_->range();
  QStringList parts;
  parts << tr("%1 ranks, %2 iterations, %3 events.")
               .arg(model_->rankCount())
               .arg(model_->stepCount(0))
               .arg(formatCount(model_->spanCount()));
  parts << tr("Showing %1 from %2.")
               .arg(formatDuration(range.lengthNs()),
                    formatTime(range.startNs, range.lengthNs() / 100));
  if (const auto& filter = state_->filter()) {
    parts << tr("Statistics follow %1 from %2.")
                 .arg(formatDuration(filter->lengthNs()),
                      formatTime(filter->startNs, filter->lengthNs() / 100));
  }
  if (state_->iteration()) {
    parts << tr("Iteration %1.").arg(*state_->iteration());
  }
  parts << describeCounters(*model_, state_->counters());
  if (const auto& selection = state_->selection()) {
    QStringList facts;
    for (const Fact& fact : factsOf(*model_, *selection)) {
      facts << fact.name + QLatin1Char(' ') + fact.value;
    }
    parts << tr("Selected: %1; %2.")
                 .arg(titleOf(*model_, *selection), facts.join(QStringLiteral("; ")));
  }
  setAccessibleDescription(parts.join(QLatin1Char(' ')));
}

void TimelineView::pointerPressed(const PointerInput& input) {
  setFocus(Qt::MouseFocusReason);
  if (controller_.ready()) {
    controller_.press(input);
    changedByUser();
  }
}

void TimelineView::pointerMoved(const PointerInput& input) {
  if (controller_.ready()) {
    controller_.move(input);
    changedByUser();
  }
}

void TimelineView::pointerReleased(const PointerInput& input) {
  if (controller_.ready()) {
    controller_.release(input);
    changedByUser();
    if (input.button == Qt::RightButton && controller_.wasClick()) {
      openMenu(input.position);
    }
  }
}

void TimelineView::pointerDoubleClicked(const PointerInput& input) {
  if (controller_.ready()) {
    const auto mark = controller_.markAt(input.position);
    if (mark && mark->kind == Mark::Kind::kNote) {
      editNote(*mark);
    } else {
      controller_.doubleClick(input);
    }
    changedByUser();
  }
}

void TimelineView::pointerLeft() {
  if (controller_.ready()) {
    controller_.leave();
    changedByUser();
  }
}

void TimelineView::wheelTurned(const WheelInput& input) {
  if (controller_.ready()) {
    controller_.wheel(input);
    changedByUser();
  }
}

}  // namespace lockstep::ui
