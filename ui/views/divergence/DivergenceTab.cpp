#include "ui/views/divergence/DivergenceTab.h"

#include <QHBoxLayout>
#include <QSplitter>
#include <QVBoxLayout>
#include <utility>

#include "ui/chart/Card.h"

namespace lockstep::ui {

DivergenceTab::DivergenceTab(const QString& name, QWidget* parent)
    : QWidget(parent), bar_(new QHBoxLayout), splitter_(new QSplitter(Qt::Vertical)) {
  canvas_ = new Canvas(this, splitter_);
  canvas_->setFocusPolicy(Qt::StrongFocus);
  canvas_->setAccessibleName(name);
  canvas_->setMinimumHeight(120);
  splitter_->addWidget(canvas_);
  splitter_->setChildrenCollapsible(true);
  splitter_->setCollapsible(0, false);
  bar_->setContentsMargins(8, 4, 8, 4);
  bar_->setSpacing(8);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addLayout(bar_);
  column->addWidget(splitter_, 1);
}

// What was shown is of another run: until the new facts come the tab says that they are being made.
void DivergenceTab::setRun(const OpenRun& run) {
  run_ = run;
  pointer_.reset();
  setFacts(nullptr);
}

void DivergenceTab::setFacts(std::shared_ptr<const DivergenceFacts> facts) {
  facts_ = std::move(facts);
  canvas_->setAccessibleDescription(facts_ != nullptr ? description() : QString());
  repaintSoon();
}

void DivergenceTab::setTheme(Theme theme) {
  theme_ = theme;
  repaintSoon();
}

void DivergenceTab::paintCanvas(DisplayList& list, QSizeF size) {
  if (facts_ != nullptr) {
    paintFacts(list, size);
    return;
  }
  list.fill(QRectF(QPointF(0, 0), size), colours().background);
  drawMessage(list, QRectF(QPointF(0, 0), size), tr("Comparing the ranks…"),
              tr("It appears as soon as the run file has been read."), colours().text, colours());
}

// Only the tab in sight paints, so only while one is seen are facts asked for.
void DivergenceTab::canvasPainted() {
  emit painted();
}

void DivergenceTab::pointerMoved(const PointerInput& input) {
  pointer_ = input.position;
  repaintSoon();
}

void DivergenceTab::pointerLeft() {
  pointer_.reset();
  repaintSoon();
}

void DivergenceTab::select(int rank, const trace::SpanRow& row) {
  if (run_.model == nullptr || run_.state == nullptr) {
    return;
  }
  // The model may have less than the analysis, which was read from the file.
  if (const auto span = spanOf(*run_.model, rank, row)) {
    run_.state->select(span);
  }
}

}  // namespace lockstep::ui
