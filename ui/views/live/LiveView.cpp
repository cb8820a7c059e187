#include "ui/views/live/LiveView.h"

#include <utility>

#include "ui/chart/Card.h"
#include "ui/table/WholeRows.h"
#include "ui/views/live/LiveTable.h"

namespace lockstep::ui {
namespace {

constexpr int kLookEveryMs = 250;
// A run that hangs brings nothing new; its figures fall all the same.
constexpr int kLookAnywayMs = 1000;

}  // namespace

LiveView::LiveView(QWidget* parent)
    : RunView(parent), table_(new TableView(tr("Ranks as they stand"))) {
  makeCanvas(tr("Live"))->setMinimumSize(320, 240);
  setFocusProxy(canvas_);
  table_->setRows(liveRows(nullptr, nullptr));
  table_->fitTitles();
  QSplitter* content = split(Qt::Vertical, {{canvas_, 6}, {table_, 1}});
  new WholeRows(content, {table_}, 0.14);
  setPages(tr("No run is open. Live shows how a run does while it trains: its speed, its overlap, "
              "its buckets filling, its loss."),
           tr("Start a run…"), Offer::kDemo, {content});
  makeAction(tr("Show the last iterations in the timeline"), {Qt::Key_Return},
             [this] { openTimeline(); });
  makeAction(tr("Show why communication is exposed"), {Qt::Key_O},
             [this] { emit overlapRequested(); });
  makeAction(tr("Show the buckets"), {Qt::Key_B}, [this] { emit bucketsRequested(); });
}

void LiveView::runChanged() {
  content_ = nullptr;
  unlikeJob_.drop();
  compared_ = nullptr;
  feed_.setModel(model_);
  table_->setRows(liveRows(nullptr, nullptr));
  // Several signals come at once; refreshSoon() makes one look of them.
  const auto look = [this] { refreshSoon(kLookEveryMs); };
  if (analyser_ != nullptr) {
    connect(analyser_, &RunAnalyser::ready, this, look);
  }
  if (model_ != nullptr) {
    for (const auto signal : {&RunModel::changed, &RunModel::infoChanged, &RunModel::loaded}) {
      connect(model_, signal, this, look);
    }
  }
  describe();
}

void LiveView::refresh() {
  if (model_ == nullptr) {
    return;
  }
  if (analyser_ != nullptr) {
    analyser_->want();
  }
  feed_.update(analyser_ == nullptr ? nullptr : analyser_->latest());
  lookForUnlike();
  content_ = std::make_shared<LiveContent>(liveContent(*model_, feed_, presentOf(*model_)));
  table_->setRows(liveRows(content_, feed_.analysed()));
  describe();
  repaintSoon();
  if (model_->isLive()) {
    refreshIn(kLookAnywayMs);
  }
}

// On a thread of the pool: a thousand ranks are compared for a while.
void LiveView::lookForUnlike() {
  const auto latest = feed_.analysed();
  if (latest == nullptr || latest == compared_ || unlikeJob_.busy()) {
    return;
  }
  compared_ = latest;
  unlikeJob_.start([latest] { return latest->likeness().outliers(); },
                   [this](std::vector<int> unlike) {
                     feed_.setUnlike(std::move(unlike));
                     refreshSoon(kLookEveryMs);
                   });
}

LiveScene LiveView::scene() const {
  return {*model_, *content_, colours(), {canvas_->size(), pointer_}};
}

void LiveView::paintCanvas(DisplayList& list, QSizeF size) {
  // While a file is read nothing is drawn before there is a span.
  const bool reading = model_ != nullptr && !model_->isLoaded() && !model_->path().empty();
  if (model_ != nullptr && content_ != nullptr && failure_.isEmpty() &&
      (!reading || model_->spanCount() > 0)) {
    LiveScene(*model_, *content_, colours(), {size, pointer_}).draw(list);
    return;
  }
  list.fill(QRectF(QPointF(0, 0), size), colours().background);
  drawMessage(list, QRectF(QPointF(0, 0), size),
              failure_.isEmpty() ? tr("Reading the run…") : tr("This run cannot be shown"),
              failure_, colours().text, colours());
}

QString LiveView::headingAt(QPointF at) const {
  if (content_ == nullptr || model_ == nullptr) {
    return {};
  }
  const LiveScene now = scene();
  const auto tile = now.tileAt(at);
  return tile                         ? content_->tile(*tile).name
         : now.buckets().contains(at) ? QStringLiteral("bucket")
                                      : QString();
}

LiveView::Way LiveView::wayFrom(QPointF position) const {
  if (content_ == nullptr || model_ == nullptr) {
    return nullptr;
  }
  const LiveScene now = scene();
  const auto tile = now.tileAt(position);
  // All three are measures of what the overlap view explains.
  const bool ofOverlap =
      tile == LiveFigure::kOverlap || tile == LiveFigure::kExposed || tile == LiveFigure::kLateRank;
  return now.timeline().contains(position)  ? &LiveView::openTimeline
         : now.buckets().contains(position) ? &LiveView::bucketsRequested
         : ofOverlap                        ? &LiveView::overlapRequested
                                            : nullptr;
}

void LiveView::pointerPressed(const PointerInput& input) {
  canvas_->setFocus(Qt::MouseFocusReason);
  pressed_ = input.button == Qt::LeftButton;
}

void LiveView::pointerMoved(const PointerInput& input) {
  RunView::pointerMoved(input);
  canvas_->setCursor(wayFrom(input.position) ? Qt::PointingHandCursor : Qt::ArrowCursor);
}

void LiveView::pointerReleased(const PointerInput& input) {
  // Pressed and released with the left button: a drag that began elsewhere is no click.
  const bool click = std::exchange(pressed_, false) && input.button == Qt::LeftButton;
  if (const Way way = click ? wayFrom(input.position) : nullptr) {
    (this->*way)();
  }
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
