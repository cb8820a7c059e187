#include <QAction>
#include <QKeySequence>
#include <QScrollBar>
#include <cmath>

#include "ui/chart/Card.h"
#include "ui/views/overlap/OverlapView.h"

// Painting, mouse and keys of the overlap view's canvas.
namespace lockstep::ui {
void OverlapView::paintCanvas(DisplayList& list, QSizeF size) {
  // Painting is what says that somebody looks (RunAnalyser::want).
  if (analyser_ != nullptr) {
    analyser_->want();
  }
  const Palette& palette = colours();
  if (content_ != nullptr && !content_->steps.empty()) {
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
  } else if (const auto rank = now.labelAt(input.position)) {
    // A second click on the same label goes back to all ranks.
    rank_ = rank_ == rank ? std::nullopt : rank;
  }
  repaintChart();
}

void OverlapView::pointerDoubleClicked(const PointerInput& input) {
  if (content_ != nullptr && (scene().stepAt(input.position) || scene().reasonAt(input.position))) {
    emit timelineRequested();
  }
}

void OverlapView::pointerLeft() {
  pointer_.reset();
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
  makeAction(tr("Previous iteration"), {Qt::Key_Left, Qt::Key_PageUp},
             [this] { moveSelection(-1, 0); });
  makeAction(tr("Next iteration"), {Qt::Key_Right, Qt::Key_PageDown},
             [this] { moveSelection(1, 0); });
  makeAction(tr("Same iteration of the rank above"), {Qt::Key_Up},
             [this] { moveSelection(0, -1); });
  makeAction(tr("Same iteration of the rank below"), {Qt::Key_Down},
             [this] { moveSelection(0, 1); });
  makeAction(tr("Show the selection in the timeline"), {Qt::Key_Return},
             [this] { emit timelineRequested(); });
  makeAction(tr("Clear the selection"), {Qt::Key_Escape}, [this] {
    rank_.reset();
    if (state_ != nullptr) {
      state_->clearSelection();
    }
    repaintChart();
  });
}

}  // namespace lockstep::ui
