#include "ui/views/timeline/TimelineOverview.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/stage/Boxes.h"
#include "ui/stage/Steps.h"

namespace lockstep::ui {
namespace {

constexpr double kEdge = 5;           // px beside an edge of the window that still hold it
constexpr double kBandMargin = 0.02;  // beside the whole run

}  // namespace

TimelineOverview::TimelineOverview(QWidget* parent) : CanvasPart(parent) {
  // Cheap by raster, and a second GL surface in the window would cost more than it draws.
  canvas_ = new Canvas(this, this, {Renderer::kRaster, QStringLiteral("overview")});
  canvas_->setMinimumHeight(static_cast<int>(kOverviewHeight));
  fill(this, inRow({canvas_}));
  setFixedHeight(static_cast<int>(kOverviewHeight));
  setAccessibleName(tr("Overview of the whole run"));
  setAccessibleDescription(
      tr("What the ranks spend their time on over the whole run; the window is what the timeline "
         "shows. The timeline's keys move and zoom it."));
  setToolTip(
      tr("The whole run: phases from the bottom up, waiting for buckets from the top down "
         "(share of the ranks' time). Drag the window, or its edges; click elsewhere to go "
         "there; double-click to show all."));
}

void TimelineOverview::runChanged() {
  drag_ = Drag::kNone;
  if (model_ != nullptr) {
    connect(model_, &RunModel::changed, this, &TimelineOverview::repaintSoon);
    connect(model_, &RunModel::infoChanged, this, &TimelineOverview::repaintSoon);
  }
  if (state_ != nullptr) {
    connect(state_, &ViewState::rangeChanged, this, &TimelineOverview::repaintSoon);
    connect(state_, &ViewState::filterChanged, this, &TimelineOverview::repaintSoon);
    connect(state_, &ViewState::colourByChanged, this, &TimelineOverview::repaintSoon);
  }
  repaintSoon();
}

void TimelineOverview::setAnnotations(const Annotations* notes) {
  notes_ = notes;
  if (notes != nullptr) {
    connect(notes, &Annotations::changed, this, &TimelineOverview::repaintSoon);
  }
}

bool TimelineOverview::ready() const {
  return model_ != nullptr && state_ != nullptr && model_->spanCount() > 0;
}

TimeAxis TimelineOverview::axis() const {
  return model_ != nullptr ? overviewAxis(*model_, QRectF(QPointF(0, 0), canvas_->size()))
                           : TimeAxis();
}

void TimelineOverview::paintCanvas(DisplayList& list, QSizeF size) {
  const Palette& palette = colours();
  const QRectF rect(QPointF(0, 0), size);
  if (!ready()) {
    list.fill(rect, palette.background);
    return;
  }
  OverviewFrame frame;
  frame.shown = state_->range();
  frame.filter = state_->filter();
  frame.colourBy = state_->colourBy();
  frame.notes = notes_;
  drawOverview(list, rect, *model_, palette, frame);
}

TimelineOverview::Drag TimelineOverview::partAt(double x) const {
  const TimeAxis now = axis();
  const double left = now.toX(state_->range().startNs);
  const double right = now.toX(state_->range().endNs);
  // A window too narrow for three parts is moved by its middle and resized from outside.
  const double inner = std::min(kEdge, (right - left) / 4);
  if (x >= left - kEdge && x <= left + inner) {
    return Drag::kLeft;
  }
  if (x >= right - inner && x <= right + kEdge) {
    return Drag::kRight;
  }
  return x > left && x < right ? Drag::kMove : Drag::kNone;
}

void TimelineOverview::showRange(TimeRange range, ViewState::RangeChange change) {
  const TimeRange all = model_->extent();
  // As wide as a pixel: of the axis only its limits are wanted.
  const TimeAxis clamped =
      TimeAxis(range.startNs, std::max(range.endNs, range.startNs + TimeAxis::kMinimumNs), 0, 1)
          .clamped(all.startNs, all.endNs);
  state_->setRange({clamped.startNs(), clamped.endNs()}, change);
}

void TimelineOverview::pointerPressed(const PointerInput& input) {
  if (!ready() || input.button != Qt::LeftButton) {
    return;
  }
  if (parentWidget() != nullptr) {
    parentWidget()->setFocus(Qt::MouseFocusReason);  // whose keys move the window too
  }
  const TimeAxis now = axis();
  const double ns = now.toNs(std::clamp(input.position.x(), now.left(), now.right()));
  drag_ = partAt(input.position.x());
  if (drag_ == Drag::kNone) {
    showRange(TimeRange::about(ns, state_->range().lengthNs()), ViewState::RangeChange::kJump);
    drag_ = Drag::kMove;
  }
  dragFromNs_ = ns;
  dragRange_ = state_->range();
}

void TimelineOverview::pointerMoved(const PointerInput& input) {
  if (!ready()) {
    return;
  }
  if (drag_ == Drag::kNone) {
    const Drag part = partAt(input.position.x());
    canvas_->setCursor(part == Drag::kMove   ? Qt::OpenHandCursor
                       : part == Drag::kNone ? Qt::PointingHandCursor
                                             : Qt::SizeHorCursor);
    return;
  }
  const double byNs = axis().toNs(input.position.x()) - dragFromNs_;
  TimeRange range = dragRange_;
  if (drag_ == Drag::kMove) {
    range = {range.startNs + byNs, range.endNs + byNs};
    canvas_->setCursor(Qt::ClosedHandCursor);
  } else if (drag_ == Drag::kLeft) {
    range.startNs += byNs;
  } else {
    range.endNs += byNs;
  }
  if (range.startNs > range.endNs) {
    std::swap(range.startNs, range.endNs);
  }
  showRange(range,
            drag_ == Drag::kMove ? ViewState::RangeChange::kPan : ViewState::RangeChange::kZoom);
}

void TimelineOverview::pointerReleased(const PointerInput&) {
  drag_ = Drag::kNone;
}

void TimelineOverview::pointerDoubleClicked(const PointerInput& input) {
  if (ready() && input.button == Qt::LeftButton) {
    showRange(model_->extent().widened(kBandMargin), ViewState::RangeChange::kJump);
  }
}

void TimelineOverview::wheelTurned(const WheelInput& input) {
  if (!ready()) {
    return;
  }
  const TimeRange now = state_->range();
  showRange(TimeRange::about(now.middleNs(), now.lengthNs() * std::pow(kZoomANotch, input.stepsY)),
            ViewState::RangeChange::kZoom);
}

}  // namespace lockstep::ui
