#include "ui/panels/Layouts.h"

#include <QScrollArea>

namespace lockstep::ui {
namespace {

template <typename Layout>
Layout* laidOut(std::initializer_list<Part> parts, int spacing) {
  auto* layout = new Layout;
  layout->setSpacing(spacing);
  add(*layout, parts);
  return layout;
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
  auto* area = new QScrollArea;
  area->setFrameShape(QFrame::NoFrame);
  area->setWidgetResizable(true);
  area->setWidget(widget);
  return area;
}

}  // namespace lockstep::ui
