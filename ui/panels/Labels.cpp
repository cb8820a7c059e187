#include "ui/panels/Labels.h"

namespace lockstep::ui {
namespace {

constexpr const char* kFilters = "filtersItsPanel";

}  // namespace

QLabel* wrapped(const QString& text, const char* name) {
  auto* label = named(new QLabel(text), name);
  label->setWordWrap(true);
  return label;
}

QLabel* muted(const QString& text, const char* name) {
  auto* label = wrapped(text, name);
  label->setForegroundRole(QPalette::PlaceholderText);
  return label;
}

QLabel* bold(const QString& text, double scale) {
  auto* label = new QLabel(text);
  QFont font = label->font();
  if (scale != 1) {  // else it follows the size of the application
    font.setPointSizeF(font.pointSizeF() * scale);
  }
  font.setBold(true);
  label->setFont(font);
  return label;
}

void setInk(QWidget* words, const QColor& ink) {
  // Only where it is another colour: a new palette sends events to the widget and to all in it.
  QPalette palette = words->palette();
  if (palette.color(QPalette::WindowText) != ink) {
    palette.setColor(QPalette::WindowText, ink);
    words->setPalette(palette);
  }
}

QToolButton* toolButton(const QString& text, const QString& tip, const char* name) {
  auto* button = named(new QToolButton, name, {}, tip);
  button->setText(text);
  return button;
}

QLineEdit* filterLine(const char* name, const QString& hint, const QString& called) {
  auto* line = named(new QLineEdit, name, called);
  line->setPlaceholderText(hint);
  line->setClearButtonEnabled(true);
  line->setProperty(kFilters, true);
  return line;
}

QLineEdit* filterLineIn(const QWidget& panel) {
  for (QLineEdit* line : panel.findChildren<QLineEdit*>()) {
    if (line->isVisible() && line->property(kFilters).toBool()) {
      return line;
    }
  }
  return nullptr;
}

}  // namespace lockstep::ui
