#include "ui/help/Tour.h"

#include <QApplication>
#include <QFrame>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QPushButton>
#include <algorithm>
#include <array>
#include <utility>

#include "ui/panels/CurrentPalette.h"
#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"

namespace lockstep::ui {
namespace {

constexpr int kWidth = 360;
constexpr int kGap = 12;   // between the hole and what is said
constexpr int kEdge = 16;  // of the window, which stays free
constexpr int kAround = 3;
constexpr int kRound = 6;
constexpr int kLookEveryMs = 150;
constexpr int kDimming = 150;  // of 255

QPushButton* button(const QString& text, const char* name) {
  auto* made = named(new QPushButton(text), name);
  made->setFocusPolicy(Qt::TabFocus);
  made->setAutoDefault(true);
  return made;
}

}  // namespace

Tour::Tour(QWidget* window)
    : QWidget(window),
      bubble_(new QFrame(this)),
      title_(named(bold({}, 1.1), "tourTitle")),
      text_(wrapped({}, "tourText")),
      count_(named(new QLabel, "tourCount")),
      back_(button(tr("Back"), "tourBack")),
      next_(button(tr("Next"), "tourNext")),
      skip_(button(tr("Skip the tour"), "tourSkip")) {
  setObjectName("tour");
  setFocusPolicy(Qt::StrongFocus);
  bubble_->setFrameShape(QFrame::StyledPanel);
  bubble_->setAutoFillBackground(true);
  count_->setForegroundRole(QPalette::PlaceholderText);
  fill(bubble_, inColumn({title_, text_, inRow({count_, Part::rest(), skip_, back_, next_})}, 8),
       {14, 12, 14, 12});
  connect(back_, &QPushButton::clicked, this, &Tour::back);
  connect(next_, &QPushButton::clicked, this, &Tour::next);
  connect(skip_, &QPushButton::clicked, this, &Tour::end);
  look_.setInterval(kLookEveryMs);
  connect(&look_, &QTimer::timeout, this, &Tour::follow);
  hide();
}

void Tour::start(std::vector<TourStep> steps) {
  steps_ = std::move(steps);
  if (steps_.empty()) {
    return;
  }
  parentWidget()->installEventFilter(this);
  setGeometry(parentWidget()->rect());
  show();
  look_.start();
  showStep(0);
}

void Tour::next() {
  if (step_ + 1 < static_cast<int>(steps_.size())) {
    showStep(step_ + 1);
  } else {
    end();
  }
}

void Tour::back() {
  if (step_ > 0) {
    showStep(step_ - 1);
  }
}

void Tour::end() {
  if (step_ < 0) {
    return;
  }
  step_ = -1;
  look_.stop();
  parentWidget()->removeEventFilter(this);
  hide();
  emit ended();
}

void Tour::showStep(int step) {
  step_ = step;
  const TourStep& now = steps_[static_cast<std::size_t>(step)];
  if (now.before) {
    now.before();
  }
  title_->setText(now.title);
  text_->setText(now.text);
  setAccessibleName(now.title + QStringLiteral(". ") + now.text);
  count_->setText(tr("%1 of %2").arg(step + 1).arg(steps_.size()));
  back_->setEnabled(step > 0);
  next_->setText(step + 1 == static_cast<int>(steps_.size()) ? tr("Done") : tr("Next"));
  raise();
  setFocus(Qt::OtherFocusReason);
  place();
}

// What a step points at may come later, as the views of a run that starts; and may take the focus.
void Tour::follow() {
  const QWidget* focus = QApplication::focusWidget();
  if (focus != nullptr && focus->window() == window() && focus != this && !isAncestorOf(focus)) {
    setFocus(Qt::OtherFocusReason);
  }
  if (target() != hole_) {
    raise();
    place();
  }
}

QRect Tour::target() const {
  const TourStep& now = steps_[static_cast<std::size_t>(step_)];
  const QWidget* widget = now.target ? now.target() : nullptr;
  // One in a dock that floats stands in a window of its own.
  if (widget == nullptr || !widget->isVisible() || widget->window() != window()) {
    return {};
  }
  const QRect at(widget->mapTo(parentWidget(), QPoint(0, 0)), widget->size());
  return at.adjusted(-kAround, -kAround, kAround, kAround).intersected(rect());
}

// Beside the hole where there is room, below it first; else over its lower right corner.
void Tour::place() {
  hole_ = target();
  bubble_->setFixedWidth(std::min(kWidth, width() - 2 * kEdge));
  bubble_->ensurePolished();
  const int high = bubble_->layout()->hasHeightForWidth()
                       ? bubble_->layout()->totalHeightForWidth(bubble_->width())
                       : bubble_->sizeHint().height();
  QRect place(0, 0, bubble_->width(), high);
  const QRect room = rect().adjusted(kEdge, kEdge, -kEdge, -kEdge);
  if (hole_.isEmpty()) {
    place.moveCenter(rect().center());
  } else {
    const int across = std::clamp(hole_.center().x() - place.width() / 2, room.left(),
                                  std::max(room.left(), room.right() - place.width() + 1));
    const int along = std::clamp(hole_.center().y() - place.height() / 2, room.top(),
                                 std::max(room.top(), room.bottom() - place.height() + 1));
    const std::array<QPoint, 4> places{
        QPoint(across, hole_.bottom() + kGap), QPoint(across, hole_.top() - kGap - place.height()),
        QPoint(hole_.right() + kGap, along), QPoint(hole_.left() - kGap - place.width(), along)};
    const auto* fits = std::ranges::find_if(
        places, [&](const QPoint& at) { return room.contains(QRect(at, place.size())); });
    const QRect inside = hole_.intersected(room);
    place.moveTo(fits != places.end() ? *fits
                                      : QPoint(inside.right() - place.width() - kGap,
                                               inside.bottom() - place.height() - kGap));
    place.moveLeft(std::max(place.left(), room.left()));
    place.moveTop(std::max(place.top(), room.top()));
  }
  bubble_->setGeometry(place);
  update();
}

void Tour::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  QPainterPath dimmed;  // odd-even: the hole is left out
  dimmed.addRect(rect());
  if (!hole_.isEmpty()) {
    dimmed.addRoundedRect(hole_, kRound, kRound);
  }
  painter.fillPath(dimmed, QColor(0, 0, 0, kDimming));
  if (!hole_.isEmpty()) {
    painter.setPen(QPen(currentAccent(), 2));
    painter.drawRoundedRect(hole_, kRound, kRound);
  }
}

void Tour::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Escape:
      end();
      return;
    case Qt::Key_Right:
    case Qt::Key_PageDown:
    case Qt::Key_Space:
    case Qt::Key_Return:
    case Qt::Key_Enter:
      next();
      return;
    case Qt::Key_Left:
    case Qt::Key_PageUp:
    case Qt::Key_Backspace:
      back();
      return;
    default:
      event->accept();  // nothing under it acts meanwhile
  }
}

void Tour::mousePressEvent(QMouseEvent* event) {
  event->accept();
}

bool Tour::event(QEvent* event) {
  // All keys are the tour's: a command of the window would change what is pointed at.
  if (event->type() == QEvent::ShortcutOverride) {
    event->accept();
    return true;
  }
  return QWidget::event(event);
}

bool Tour::eventFilter(QObject* watched, QEvent* event) {
  if (watched == parentWidget() && event->type() == QEvent::Resize) {
    setGeometry(parentWidget()->rect());
    place();
  }
  return QWidget::eventFilter(watched, event);
}

// Tab goes round the tour's own buttons.
bool Tour::focusNextPrevChild(bool next) {
  const std::array<QPushButton*, 3> buttons{next_, skip_, back_};
  const auto* now = std::find(buttons.begin(), buttons.end(), QApplication::focusWidget());
  auto at = now == buttons.end() ? (next ? 0 : 2)
                                 : (std::distance(buttons.begin(), now) + (next ? 1 : 2)) % 3;
  if (!buttons[static_cast<std::size_t>(at)]->isEnabled()) {
    at = (at + (next ? 1 : 2)) % 3;
  }
  buttons[static_cast<std::size_t>(at)]->setFocus(next ? Qt::TabFocusReason
                                                       : Qt::BacktabFocusReason);
  return true;
}

}  // namespace lockstep::ui
