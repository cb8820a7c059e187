#include "ui/views/compare/TwinPane.h"

#include <QKeyEvent>
#include <QScopedValueRollback>
#include <QScrollBar>
#include <QTimer>
#include <cmath>

#include "engine/trace/Event.h"
#include "ui/chart/Plate.h"
#include "ui/model/Follow.h"
#include "ui/model/Format.h"
#include "ui/model/SpanFacts.h"
#include "ui/stage/RunView.h"
#include "ui/views/compare/CompareResult.h"
#include "ui/views/timeline/TimelineScene.h"

namespace lockstep::ui {
namespace {

constexpr double kPaneStep = 0.2;  // of what is visible

}  // namespace

TwinPane::TwinPane(QWidget* parent) : Steered(parent) {
  canvas_ = new Canvas(this, this);
  canvas_->setMinimumSize(200, 80);
  scrollBar_ = new QScrollBar(Qt::Vertical, this);
  fill(this, inRow({{canvas_, 1}, scrollBar_}, 0));
  setFocusPolicy(Qt::StrongFocus);
  canvas_->setFocusProxy(this);
  controller_.setState(&state_);
  connect(scrollBar_, &QScrollBar::valueChanged, this, [this](int value) {
    // Less than a pixel: the bar was set to a rounded scroll and must not round the scroll itself.
    if (std::abs(controller_.scrollY() - value) >= 1) {
      controller_.setScroll(value);
      repaintSoon();
    }
  });
  connect(&state_, &ViewState::rangeChanged, this, [this] {
    controller_.rangeChanged();
    repaintSoon();
    // A move that came from the other pane is not sent back.
    if (!following_) {
      emit rangeMoved();
    }
  });
  connect(&state_, &ViewState::selectionChanged, this, [this] {
    repaintSoon();
    describe();
    if (!following_ && state_.selection()) {
      emit spanSelected(*state_.selection());
    }
  });
  connect(&state_, &ViewState::hoveredChanged, this, [this] { repaintSoon(); });
}

void TwinPane::setModel(RunModel* model, std::size_t run) {
  run_ = run;
  repaintSoon();
  if (model == model_) {
    return;
  }
  ui::follow(model_, model, this);
  iteration_.reset();
  fitted_ = false;
  // Quietly: the range and selection of the model before mean nothing to the other pane.
  {
    const QScopedValueRollback quiet(following_, true);
    state_.reset();
  }
  controller_.setModel(model);
  if (model_ != nullptr) {
    connect(model_, &RunModel::changed, this, [this] {
      controller_.modelChanged();
      updated();
    });
    // Its owner may end it at any time (model_ is null by then).
    connect(model_, &QObject::destroyed, this, [this] {
      iteration_.reset();
      controller_.setModel(nullptr);
      updated();
    });
  }
  updated();
}

// Note [Two panes, one stretch]
//
// Each pane has its own axis, in ns of its own run. What they share is counted from the start of
// the iteration that each is aligned at (originNs_):
//
//    A    |--------- iteration 40 ---------|
//    B    |----- iteration 12 -----|
//         ^ 0 of both                relative range: [-5 %, 105 %] of the longer one
//
// The pane that the user moves sends its relative range, and the other follows. While it follows
// (following_) it sends nothing, or the two would call each other for ever. Selections go the same
// way, by rank, lane, kind and bucket.
bool TwinPane::setIteration(std::uint32_t iteration) {
  const auto step = model_ == nullptr ? std::nullopt : model_->stepOfAll(iteration);
  if (!step) {
    return false;
  }
  // The stretch stays, counted from the new iteration's start; before the first there is none yet.
  const TimeRange relative = relativeRange();
  const bool first = !iteration_.has_value();
  iteration_ = iteration;
  originNs_ = step->startNs;
  if (!first) {
    follow(relative);
  }
  describe();
  return true;
}

std::optional<double> TwinPane::iterationNs() const {
  const auto step =
      model_ == nullptr || !iteration_ ? std::nullopt : model_->stepOfAll(*iteration_);
  return step ? std::optional(step->endNs - step->startNs) : std::nullopt;
}

TimeRange TwinPane::relativeRange() const {
  return {state_.range().startNs - originNs_, state_.range().endNs - originNs_};
}

void TwinPane::follow(TimeRange relative) {
  const QScopedValueRollback quiet(following_, true);
  // Silent: a move of the other pane is no step to undo here.
  state_.setRange({relative.startNs + originNs_, relative.endNs + originNs_},
                  ViewState::RangeChange::kSilent);
  repaintSoon();
}

void TwinPane::colourBy(ColourBy by) {
  state_.setColourBy(by);
  repaintSoon();
}

/// Goes through what a lane holds of the iteration, row by row; no further than its end.
template <typename Predicate>
std::optional<Span> TwinPane::findInIteration(int lane, Predicate wanted) const {
  const auto length = iterationNs();
  const Lane* held = model_ == nullptr || !length ? nullptr : model_->lane(lane);
  if (held == nullptr) {
    return std::nullopt;
  }
  std::optional<Span> found;
  for (int row = 0; row < static_cast<int>(held->rows.size()); ++row) {
    // Any span of the row near the start leads to its neighbours; rows are walked by index.
    const auto near = model_->findSpan(lane, row, originNs_ + *length / 2, *length);
    const auto at = near ? model_->indexOf(*near) : std::nullopt;
    if (!at) {
      continue;
    }
    std::size_t first = *at;
    // From there back to the first that is still open when the iteration begins.
    while (first > 0 && model_->spanAt(lane, row, first - 1).endNs() >= originNs_) {
      --first;
    }
    for (std::size_t i = first; i < held->rows[row].size(); ++i) {
      const Span span = model_->spanAt(lane, row, i);
      if (span.startNs > originNs_ + *length) {
        break;
      }
      // The earliest of all rows; spans of the neighbouring iterations may reach into this one.
      if (span.step == *iteration_ && wanted(span) && (!found || span.startNs < found->startNs)) {
        found = span;
        break;
      }
    }
  }
  return found;
}

void TwinPane::select(const std::optional<Span>& span) {
  const QScopedValueRollback quiet(following_, true);
  state_.select(span);
}

void TwinPane::selectCounterpart(const Span& span) {
  // Nothing like it in the other run: its selection is taken away.
  select(findInIteration(span.lane, [&](const Span& candidate) {
    return candidate.kind == span.kind && candidate.bucket == span.bucket;
  }));
}

std::optional<Span> TwinPane::selectBucket(int rank, std::uint16_t bucket) {
  const auto span =
      findInIteration(laneId(rank, LaneRole::kCommunication), [&](const Span& candidate) {
        return candidate.kind == trace::EventKind::kCollective && candidate.bucket == bucket;
      });
  select(span);
  return span;
}

// Where there is no room for all lanes, ranks begin collapsed: a strip of each still tells what
// it computed and communicated, and a click on its header opens it.
void TwinPane::fitRanks() {
  // Once for a run, when there is something to measure: later the ranks are as the user left them.
  if (fitted_ || model_ == nullptr || model_->spanCount() == 0 || canvas_->height() < 1) {
    return;
  }
  fitted_ = true;
  if (controller_.maximumScroll() > 0) {
    const auto ranks = controller_.layout().ranks();
    for (const TimelineLayout::RankBox& rank : ranks) {
      if (!rank.collapsed) {
        controller_.toggleRank(rank.rank);
      }
    }
    // Not now: this is in the middle of a frame.
    QTimer::singleShot(0, this, &TwinPane::updated);
  }
}

void TwinPane::drawLetter(DisplayList& list) const {
  const QColor colour = colours().rank(static_cast<int>(run_));
  const QRectF chip(timeline_metrics::kLabelWidth - 30, 5, 24, 18);
  drawPlate(list, chip, letterOf(run_), colour, {.font = FontRole::kBold});
}

void TwinPane::updated() {
  setScrollable(*scrollBar_, controller_.maximumScroll(), canvas_->height(), 30);
  scrollBar_->setValue(static_cast<int>(std::lround(controller_.scrollY())));
  if (controller_.ready()) {
    canvas_->setCursor(controller_.mouse().cursor());
  }
  repaintSoon();
}

void TwinPane::describe() {
  if (model_ == nullptr || !iteration_) {
    setAccessibleDescription(tr("No iteration."));
    return;
  }
  QString text = tr("Run %1, iteration %2, %3 long.")
                     .arg(letterOf(run_))
                     .arg(*iteration_)
                     .arg(formatDuration(iterationNs().value_or(0)));
  if (const auto& selection = state_.selection()) {
    text += u' ' + tr("Selected: %1.").arg(titleOf(*model_, *selection));
  }
  setAccessibleDescription(text);
}

void TwinPane::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  controller_.setSize(canvas_->size());
  updated();
}

void TwinPane::paintCanvas(DisplayList& list, QSizeF size) {
  controller_.setSize(size);
  const Palette& palette = colours();
  if (!shows() || state_.range().empty()) {
    list.fill(QRectF(QPointF(0, 0), size), palette.background);
    list.text(QRectF(QPointF(0, 0), size),
              model_ == nullptr ? tr("No run") : tr("This run has no iteration to show yet"),
              palette.textMuted, FontRole::kNormal, Qt::AlignCenter);
    return;
  }
  fitRanks();
  TimelineScene(*model_, controller_.layout(), palette, controller_.frame()).draw(list);
  drawLetter(list);
}

void TwinPane::pointerPressed(const PointerInput& input) {
  setFocus(Qt::MouseFocusReason);
  Steered::pointerPressed(input);
}

void TwinPane::keyPressEvent(QKeyEvent* event) {
  if (!shows()) {
    QWidget::keyPressEvent(event);
    return;
  }
  const int key = event->key();
  if (key == Qt::Key_W || key == Qt::Key_S) {
    controller_.zoom(key == Qt::Key_W ? kZoomStep : 1 / kZoomStep);
  } else if (key == Qt::Key_A || key == Qt::Key_D) {
    controller_.pan(key == Qt::Key_A ? -kPaneStep : kPaneStep);
  } else if (key == Qt::Key_Escape) {
    controller_.clear();
  } else {
    QWidget::keyPressEvent(event);
    return;
  }
  updated();
}

}  // namespace lockstep::ui
