#include "ui/panels/Layouts.h"

#include <QEvent>
#include <QScreen>
#include <QScrollArea>
#include <QScrollBar>
#include <QStyle>
#include <algorithm>

namespace lockstep::ui {
namespace {

template <typename Layout>
Layout* laidOut(std::initializer_list<Part> parts, int spacing) {
  auto* layout = new Layout;
  layout->setSpacing(spacing);
  add(*layout, parts);
  return layout;
}

/// As large as what it holds, where QScrollArea asks for a few lines.
class RoomyArea : public QScrollArea {
 public:
  [[nodiscard]] QSize sizeHint() const override {
    const QSize wish = widget()->sizeHint();
    const int high = widget()->heightForWidth(wish.width());
    return {wish.width(), high < 0 ? wish.height() : high};
  }
  [[nodiscard]] QSize minimumSizeHint() const override {
    constexpr int kLeastLines = 4;
    const int bar = verticalScrollBar()->sizeHint().width();
    return {widget()->minimumSizeHint().width() + bar, kLeastLines * fontMetrics().lineSpacing()};
  }
};

/// Never narrower than what it holds, up to a limit.
class WideEnoughArea : public QScrollArea {
 public:
  explicit WideEnoughArea(int widest) : widest_(widest) {}

  [[nodiscard]] QSize minimumSizeHint() const override {
    const int wish = widget()->minimumSizeHint().width() + verticalScrollBar()->sizeHint().width();
    return {std::min(wish, widest_), QScrollArea::minimumSizeHint().height()};
  }

  bool eventFilter(QObject* watched, QEvent* event) override {
    if (watched == widget() && event->type() == QEvent::LayoutRequest) {
      updateGeometry();  // other words need another width
    }
    return QScrollArea::eventFilter(watched, event);
  }

 private:
  const int widest_;
};

QWidget* scrolledIn(QScrollArea* area, QWidget* widget) {
  area->setFrameShape(QFrame::NoFrame);
  area->setWidgetResizable(true);
  area->setWidget(widget);
  return area;
}

}  // namespace

Part Part::gap(int pixels) {
  Part part(static_cast<QWidget*>(nullptr));
  part.pixels = pixels;
  return part;
}

QHBoxLayout* inRow(std::initializer_list<Part> parts, int spacing) {
  return laidOut<QHBoxLayout>(parts, spacing);
}

QVBoxLayout* inColumn(std::initializer_list<Part> parts, int spacing) {
  return laidOut<QVBoxLayout>(parts, spacing);
}

void add(QBoxLayout& layout, std::initializer_list<Part> parts) {
  for (const Part& part : parts) {
    if (part.widget != nullptr) {
      layout.addWidget(part.widget, part.stretch, part.alignment);
    } else if (part.layout != nullptr) {
      layout.addLayout(part.layout, part.stretch);
    } else if (part.stretch > 0) {
      layout.addStretch(part.stretch);
    } else {
      layout.addSpacing(part.pixels);
    }
  }
}

QWidget* fill(QWidget* widget, QLayout* layout, const QMargins& margins) {
  layout->setContentsMargins(margins);
  widget->setLayout(layout);
  return widget;
}

QWidget* scrolled(QWidget* widget) {
  return scrolledIn(new QScrollArea, widget);
}

QWidget* scrolledAtNeed(QWidget* widget) {
  QWidget* area = scrolledIn(new RoomyArea, widget);
  area->setFocusPolicy(Qt::NoFocus);
  return area;
}

QWidget* scrolledBeside(QWidget* widget, int widest) {
  return scrolledIn(new WideEnoughArea(widest), widget);
}

void resizeWithinScreen(QWidget& window, const QSize& wish) {
  const int title = window.style()->pixelMetric(QStyle::PM_TitleBarHeight, nullptr, &window);
  window.resize(wish.boundedTo(window.screen()->availableSize() - QSize(0, title)));
}

}  // namespace lockstep::ui
