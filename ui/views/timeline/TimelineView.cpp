#include "ui/views/timeline/TimelineView.h"

#include <QScrollBar>
#include <QStyle>
#include <cmath>

#include "engine/trace/Event.h"
#include "ui/model/Format.h"
#include "ui/model/SpanFacts.h"
#include "ui/views/timeline/CounterMenu.h"
#include "ui/views/timeline/CounterPanel.h"
#include "ui/views/timeline/CounterTable.h"
#include "ui/views/timeline/FindLine.h"
#include "ui/views/timeline/FirstLook.h"
#include "ui/views/timeline/LastIterations.h"
#include "ui/views/timeline/TimelineBar.h"
#include "ui/views/timeline/TimelineMenu.h"
#include "ui/views/timeline/TimelineOverview.h"
#include "ui/views/timeline/TimelineScene.h"

namespace lockstep::ui {
namespace {

constexpr qint64 kDescribeEveryMs = 1000;

}  // namespace

TimelineView::TimelineView(QWidget* parent) : Steered(parent), unlikeJob_(this) {
  overview_ = new TimelineOverview(this);
  makeCanvas(QString(), this);
  notes_ = std::make_unique<NoteEditor>(controller_, *canvas_, *this);
  findLine_ = new FindLine(this);
  findLine_->hide();
  counterMenu_ = new CounterMenu(this);
  counterPanel_ = new CounterPanel(this);
  counterPanel_->hide();
  bar_ = new TimelineBar(this);
  content_ = new QWidget(this);
  content_->setFocusProxy(this);  // its parts hand the focus to what they lie in
  fill(content_, inColumn({overview_, {makeScrollBar(), 1}, counterPanel_, findLine_, bar_}, 0));
  setPages(
      tr("No run is open. Start an experiment or open a run file, and its iterations appear here."),
      tr("Run the 2-rank demo"), Offer::kDemo, {content_});
  overview_->setAnnotations(&annotations());
  controller_.setFinder(&finder_);
  connect(&annotations(), &Annotations::changed, this, [this] { repaintSoon(); });
  connect(&annotations(), &Annotations::failed, this, &TimelineView::problem);
  connect(&finder_, &SpanFinder::changed, this, [this] {
    showFound();
    repaintSoon();
  });
  connect(findLine_, &FindLine::queryChanged, this,
          [this](const QString& text) { finder_.setQuery(SpanQuery(text)); });
  connect(findLine_, &FindLine::goWanted, this, &TimelineView::goToMatch);
  connect(findLine_, &FindLine::closeWanted, this, &TimelineView::closeFind);
  setAccessibleName(tr("Timeline"));
  connect(scrollBar_, &QScrollBar::valueChanged, this, [this](int value) {
    if (std::abs(controller_.scrollY() - value) >= 1) {
      controller_.setScroll(value);
      repaintSoon();
    }
  });
  makeActions();
  makeMoreActions();
  makeRankActions();
  makeCounterActions();
  updateScrollBar();
  describe();
}

TimelineView::~TimelineView() {
  // What looks at the notes goes first.
  notes_->drop();
  delete overview_;
}

void TimelineView::runChanged() {
  // The canvas has its size before anything asks what it shows.
  content_->setGeometry(contentsRect());
  content_->layout()->activate();
  latency_.clear();
  unlikeJob_.drop();
  controller_.setState(state_);
  controller_.setModel(model_);
  controller_.placesChanged();
  for (RunPart* part : std::initializer_list<RunPart*>{overview_, bar_, counterPanel_}) {
    part->setRun({model_, state_, analyser_});
  }
  counterMenu_->setState(state_);
  counterMenu_->setModel(model_);
  finder_.setModel(model_);
  if (model_ == nullptr) {
    findLine_->setText({});  // what was looked for were spans of the run that is gone
    findLine_->hide();
  }
  setFrozen(false);
  notes_->open(model_, state_);
  if (state_ != nullptr) {
    const auto repaint = [this] { repaintSoon(); };
    connect(state_, &ViewState::rangeChanged, this, [this] {
      controller_.setGlideMs(
          isVisible() ? style()->styleHint(QStyle::SH_Widget_Animation_Duration, nullptr, this)
                      : 0);
      controller_.rangeChanged();
      updateScrollBar();
      repaintSoon();
    });
    connect(state_, &ViewState::hoveredChanged, this, repaint);
    connect(state_, &ViewState::colourByChanged, this, repaint);
    connect(state_, &ViewState::filterChanged, this, repaint);
    connect(state_, &ViewState::countersChanged, this, [this] {
      controller_.placesChanged();
      changedByUser();
      describe();
    });
    connect(state_, &ViewState::shownRanksChanged, this, [this] {
      controller_.placesChanged();
      changedByUser();
    });
    connect(state_, &ViewState::forecastChanged, this, [this] {
      controller_.placesChanged();
      updateScrollBar();
      repaintSoon();
    });
    connect(state_, &ViewState::selectionChanged, this, [this] {
      showFound();
      repaintSoon();
      describe();
    });
    connect(state_, &ViewState::followLiveChanged, this, [this] { modelChanged(); });
  }
  if (analyser_ != nullptr) {
    connect(analyser_, &RunAnalyser::ready, this, &TimelineView::lookForUnlike);
  }
  if (model_ != nullptr) {
    connect(model_, &RunModel::changed, this, &TimelineView::modelChanged);
    connect(model_, &RunModel::infoChanged, this, [this] { repaintSoon(); });
    connect(model_, &RunModel::loaded, this, &TimelineView::modelLoaded);
    connect(model_, &RunModel::liveSpansApplied, this,
            [this](const std::vector<std::uint64_t>& endTicks) {
              if (!frozen_) {
                latency_.arrived(endTicks);
              }
            });
    modelChanged();
    if (model_->isLoaded()) {
      modelLoaded();
    }
  }
  lookForUnlike();
  changedByUser();
}

// On a thread of the pool: a thousand ranks are compared for a while.
void TimelineView::lookForUnlike() {
  if (!isVisible() || !controller_.ofMany() || analyser_ == nullptr ||
      analyser_->latest() == nullptr) {
    return;
  }
  unlikeJob_.start(
      [latest = analyser_->latest()] {
        const diagnosis::RankLikeness& likeness = latest->likeness();
        std::vector<std::vector<int>> unlike;
        for (const int rank : likeness.outliers()) {
          unlike.push_back(likeness.besides(rank));
        }
        return unlike;
      },
      [this](const std::vector<std::vector<int>>& unlike) {
        if (controller_.ready()) {
          controller_.setUnlike(unlike);
          changedByUser();
        }
      });
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
  const auto rect = controller_.sight().rectOf(span);
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

void TimelineView::goToTime(double ns) {
  if (controller_.ready()) {
    state_->setRange(TimeRange::about(ns, state_->range().lengthNs()));
    changedByUser();
  }
}

void TimelineView::reveal(const Span& span) {
  if (controller_.ready()) {
    controller_.reveal(span);
    changedByUser();
  }
}

void TimelineView::modelChanged() {
  if (model_ == nullptr || frozen_) {
    return;
  }
  controller_.modelChanged();
  updateScrollBar();
  repaintSoon();
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
  return broken && !struck && model_->spanCount() > 0 ? lastIterations(*model_)
                                                      : ui::firstLook(*model_);
}

void TimelineView::changedByUser() {
  updateScrollBar();
  if (controller_.ready()) {
    canvas_->setCursor(controller_.mouse().cursor());
  }
  repaintSoon();
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

// Qt hides the widgets of a window that is minimised, too: then nobody looks, and no frame is late.
void TimelineView::showEvent(QShowEvent* event) {
  RunView::showEvent(event);
  latency_.watch();
  lookForUnlike();
}

void TimelineView::hideEvent(QHideEvent* event) {
  QWidget::hideEvent(event);
  latency_.stopWatching();
}

void TimelineView::paintCanvas(DisplayList& list, QSizeF size) {
  // The canvas's own size rules: it may be laid out after this widget was.
  controller_.setSize(size);
  if (!controller_.ready() || model_->spanCount() == 0 || state_->range().empty()) {
    paintEmptyState(list, size);
    return;
  }
  if (controller_.ofMany() && analyser_ != nullptr) {
    analyser_->want();  // for the ranks that are unlike the rest
  }
  if (controller_.glide()) {
    repaintSoon();
  }
  TimelineScene(*model_, controller_.layout(), colours(), controller_.frame()).draw(list);
}

QString TimelineView::headingAt(QPointF at) const {
  return controller_.headingAt(at);
}

void TimelineView::canvasPainted() {
  if (controller_.ready() && isVisible()) {
    latency_.painted(*model_, state_->range(), state_->followsLive());
  } else {
    latency_.paintedNothing();
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
  list.text(middle, title, palette.text, FontRole::kBold, Qt::AlignCenter);
  list.text(middle.translated(0, 26), more, palette.textMuted, FontRole::kNormal, Qt::AlignCenter);
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

// --- the mouse ---

void TimelineView::pointerPressed(const PointerInput& input) {
  setFocus(Qt::MouseFocusReason);
  Steered::pointerPressed(input);
}

void TimelineView::pointerReleased(const PointerInput& input) {
  Steered::pointerReleased(input);
  if (controller_.ready() && input.button == Qt::RightButton && controller_.mouse().wasClick() &&
      model_->spanCount() > 0) {
    auto* menu = new TimelineMenu(*this, input.position);
    menu->popup(canvas_->mapToGlobal(input.position.toPoint()));
  }
}

void TimelineView::pointerDoubleClicked(const PointerInput& input) {
  const auto mark = controller_.ready() ? controller_.markAt(input.position) : std::nullopt;
  if (mark && mark->kind == Mark::Kind::kNote) {
    notes_->edit(*mark);
    changedByUser();
  } else {
    Steered::pointerDoubleClicked(input);
  }
}

// --- standing still ---

void TimelineView::setFrozen(bool frozen) {
  if (frozen == frozen_) {
    return;
  }
  frozen_ = frozen;
  latency_.watchAnew();
  bar_->setFrozen(frozen);
  if (state_ == nullptr) {
    return;
  }
  if (frozen) {
    // Following would move the range of a picture that is to stand still; it is taken up again
    // after.
    followedBeforeFreeze_ = state_->followsLive();
    state_->setFollowLive(false);
    return;
  }
  state_->setFollowLive(followedBeforeFreeze_);
  followedBeforeFreeze_ = false;
  modelChanged();
}

// --- searching ---

void TimelineView::find(const QString& text) {
  findLine_->show();
  if (!text.isEmpty()) {
    findLine_->setText(text);
  }
  // Closing the line dropped the query but left the text in it.
  if (finder_.query().text() != findLine_->text()) {
    finder_.setQuery(SpanQuery(findLine_->text()));
  }
  findLine_->begin();
}

void TimelineView::showFound() {
  findLine_->showResult(finder_, state_ == nullptr ? std::nullopt : state_->selection());
}

void TimelineView::closeFind() {
  findLine_->hide();
  finder_.setQuery(SpanQuery());
  setFocus(Qt::OtherFocusReason);
}

void TimelineView::goToMatch(int direction) {
  if (!controller_.ready()) {
    return;
  }
  if (findLine_->isHidden()) {
    find();
  }
  if (const auto span = finder_.next(state_->selection(), state_->range().startNs, direction)) {
    controller_.reveal(*span);
    changedByUser();
  }
}

void TimelineView::escape() {
  if (!findLine_->isHidden()) {
    closeFind();
  } else {
    controller_.clear();
  }
}

}  // namespace lockstep::ui
