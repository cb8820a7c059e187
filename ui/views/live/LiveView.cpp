#include "ui/views/live/LiveView.h"

#include <QAction>
#include <QSplitter>
#include <QStackedLayout>
#include <QTimer>
#include <utility>

#include "ui/canvas/FactCard.h"
#include "ui/panels/EmptyState.h"
#include "ui/table/TableView.h"
#include "ui/views/live/LiveTable.h"

namespace lockstep::ui {
namespace {

constexpr qint64 kLookEveryMs = 250;
// A run that hangs brings nothing new; its figures fall all the same.
constexpr int kLookAnywayMs = 1000;

}  // namespace

LiveView::LiveView(QWidget* parent) : RunView(parent), timer_(new QTimer(this)) {
  auto* empty = new EmptyState(
      tr("No run is open. Live shows how a run does while it trains: its speed, its overlap, its "
         "buckets filling, its loss."),
      tr("Start a run…"));
  connect(empty, &EmptyState::activated, this, &LiveView::startRequested);

  canvas_ = new Canvas(this, nullptr);
  canvas_->setMinimumSize(320, 240);
  canvas_->setAccessibleName(tr("Live"));
  canvas_->setFocusPolicy(Qt::StrongFocus);
  table_ = new TableView(tr("Ranks as they stand"));
  table_->setRows(liveRows(nullptr, nullptr));
  table_->fitTitles();

  auto* splitter = new QSplitter(Qt::Vertical);
  splitter->addWidget(canvas_);
  splitter->addWidget(table_);
  splitter->setStretchFactor(0, 6);
  splitter->setStretchFactor(1, 1);
  splitter->setSizes({700, 110});

  stack_ = new QStackedLayout(this);
  stack_->setContentsMargins(0, 0, 0, 0);
  stack_->addWidget(empty);
  stack_->addWidget(splitter);
  setFocusProxy(canvas_);

  timer_->setSingleShot(true);
  connect(timer_, &QTimer::timeout, this, &LiveView::look);
  makeActions();
}

LiveView::~LiveView() {
  // The canvas draws through this; it goes first.
  delete canvas_;
}

void LiveView::makeActions() {
  const auto add = [this](const QString& text, Qt::Key key, auto act) {
    auto* action = new QAction(text, this);
    action->setShortcut(key);
    action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    connect(action, &QAction::triggered, this, act);
    canvas_->addAction(action);
    actions_.push_back(action);
  };
  add(tr("Show the last iterations in the timeline"), Qt::Key_Return, [this] { openTimeline(); });
  add(tr("Show why communication is exposed"), Qt::Key_O, [this] { emit overlapRequested(); });
  add(tr("Show the buckets"), Qt::Key_B, [this] { emit bucketsRequested(); });
}

void LiveView::setRun(const OpenRun& run) {
  for (QObject* old : {static_cast<QObject*>(model_), static_cast<QObject*>(analyser_)}) {
    if (old != nullptr) {
      old->disconnect(this);
    }
  }
  timer_->stop();
  model_ = run.model;
  state_ = run.state;
  analyser_ = run.analyser;
  failure_.clear();
  content_ = nullptr;
  looked_.invalidate();
  feed_.setModel(run.model);
  table_->setRows(liveRows(nullptr, nullptr));
  stack_->setCurrentIndex(model_ == nullptr ? 0 : 1);
  if (analyser_ != nullptr) {
    connect(analyser_, &RunAnalyser::ready, this, &LiveView::lookSoon);
  }
  if (model_ != nullptr) {
    for (const auto signal : {&RunModel::changed, &RunModel::infoChanged, &RunModel::loaded}) {
      connect(model_, signal, this, &LiveView::lookSoon);
    }
    connect(model_, &RunModel::failed, this, [this](const QString& sentence) {
      failure_ = sentence;
      canvas_->repaintSoon();
    });
    connect(model_, &QObject::destroyed, this, [this] { setRun({}); });
    look();
  }
  describe();
}

void LiveView::setTheme(Theme theme) {
  theme_ = theme;
  canvas_->repaintSoon();
}

void LiveView::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  look();
}

void LiveView::lookSoon() {
  if (!isVisible()) {
    return;
  }
  const qint64 since = looked_.isValid() ? looked_.elapsed() : kLookEveryMs;
  if (since >= kLookEveryMs) {
    look();
  } else if (!timer_->isActive() || timer_->remainingTime() > kLookEveryMs) {
    timer_->start(static_cast<int>(kLookEveryMs - since));
  }
}

void LiveView::look() {
  if (model_ == nullptr || !isVisible()) {
    return;
  }
  looked_.start();
  if (analyser_ != nullptr) {
    analyser_->want();
  }
  feed_.update(analyser_ == nullptr ? nullptr : analyser_->latest());
  content_ = std::make_shared<LiveContent>(liveContent(*model_, feed_, presentOf(*model_)));
  table_->setRows(liveRows(content_, feed_.analysed()));
  describe();
  canvas_->repaintSoon();
  if (model_->isLive()) {
    timer_->start(kLookAnywayMs);
  }
}

LiveScene LiveView::scene() const {
  return {*model_, *content_, Palette::of(theme_), {canvas_->size(), pointer_}};
}

void LiveView::paintCanvas(DisplayList& list, QSizeF size) {
  const Palette& palette = Palette::of(theme_);
  const bool reading = model_ != nullptr && !model_->isLoaded() && !model_->path().empty();
  if (model_ != nullptr && content_ != nullptr && failure_.isEmpty() &&
      (!reading || model_->spanCount() > 0)) {
    LiveScene(*model_, *content_, palette, {size, pointer_}).draw(list);
    return;
  }
  list.fill(QRectF(QPointF(0, 0), size), palette.background);
  drawMessage(list, QRectF(QPointF(0, 0), size),
              failure_.isEmpty() ? tr("Reading the run…") : tr("This run cannot be shown"),
              failure_, palette.text, palette);
}

void LiveView::canvasPainted() {
  emit framePainted();
}

void LiveView::pointerPressed(const PointerInput& input) {
  canvas_->setFocus(Qt::MouseFocusReason);
  pressed_ = input.button == Qt::LeftButton;
}

void LiveView::pointerMoved(const PointerInput& input) {
  pointer_ = input.position;
  if (content_ != nullptr && model_ != nullptr) {
    const LiveScene now = scene();
    const auto tile = now.tileAt(input.position);
    const bool leads = tile == LiveFigure::kOverlap || tile == LiveFigure::kExposed ||
                       tile == LiveFigure::kLateRank || now.timeline().contains(input.position) ||
                       now.buckets().contains(input.position);
    canvas_->setCursor(leads ? Qt::PointingHandCursor : Qt::ArrowCursor);
  }
  canvas_->repaintSoon();
}

void LiveView::pointerReleased(const PointerInput& input) {
  const bool click = std::exchange(pressed_, false) && input.button == Qt::LeftButton;
  if (!click || content_ == nullptr || model_ == nullptr) {
    return;
  }
  const LiveScene now = scene();
  const auto tile = now.tileAt(input.position);
  if (now.timeline().contains(input.position)) {
    openTimeline();
  } else if (now.buckets().contains(input.position)) {
    emit bucketsRequested();
  } else if (tile == LiveFigure::kOverlap || tile == LiveFigure::kExposed ||
             tile == LiveFigure::kLateRank) {
    emit overlapRequested();
  }
}

void LiveView::pointerLeft() {
  pointer_.reset();
  canvas_->repaintSoon();
}

void LiveView::openTimeline() {
  if (content_ != nullptr && content_->iterations && state_ != nullptr) {
    state_->setRange(*content_->iterations);
    emit timelineRequested();
  }
}

// What a screen reader says about the picture.
void LiveView::describe() {
  if (content_ == nullptr) {
    canvas_->setAccessibleDescription(tr("No run."));
    return;
  }
  QStringList parts;
  if (!content_->problem.isEmpty()) {
    parts << content_->problem;
  }
  for (const LiveTile& tile : content_->tiles) {
    parts << QStringLiteral("%1: %2 %3.").arg(tile.name, tile.value, tile.note);
  }
  canvas_->setAccessibleDescription(parts.join(QLatin1Char(' ')));
}

}  // namespace lockstep::ui
