#include "tests/ui/xtest/CutText.h"

#include <QAbstractButton>
#include <QAbstractScrollArea>
#include <QDockWidget>
#include <QHeaderView>
#include <QLabel>
#include <QTabBar>
#include <QTextDocument>
#include <QToolButton>
#include <algorithm>

namespace lockstep::tests {
namespace {

constexpr int kSlack = 1;  // px that rounding may take

QString nameOf(const QWidget& widget) {
  QString name = widget.objectName();
  for (const QWidget* at = widget.parentWidget(); name.isEmpty() && at != nullptr;
       at = at->parentWidget()) {
    name = at->objectName().isEmpty() ? QString() : QStringLiteral("in ") + at->objectName();
  }
  return QStringLiteral("%1 %2").arg(QLatin1String(widget.metaObject()->className()), name);
}

QString cut(const QWidget& widget, const QString& text, const QSize& needed) {
  return QStringLiteral("%1 cuts off \"%2\": %3 x %4 of %5 x %6")
      .arg(nameOf(widget), text.left(60))
      .arg(widget.width())
      .arg(widget.height())
      .arg(needed.width())
      .arg(needed.height());
}

bool scrolls(const QWidget& widget) {
  const auto* area = qobject_cast<const QAbstractScrollArea*>(widget.parentWidget());
  return area != nullptr && area->viewport() == &widget;
}

/// Whether it stands in an area that can be scrolled, so that its place says nothing.
bool isScrolled(const QWidget& widget) {
  for (const QWidget* at = widget.parentWidget(); at != nullptr && !at->isWindow();
       at = at->parentWidget()) {
    if (scrolls(*at)) {
      return true;
    }
  }
  return false;
}

QSize needsOf(const QLabel& label) {
  const QMargins around = label.contentsMargins();
  const int margin = 2 * label.margin() + around.left() + around.right();
  if (label.wordWrap() || Qt::mightBeRichText(label.text())) {
    return {0, label.heightForWidth(label.width())};
  }
  const QFontMetrics metrics = label.fontMetrics();
  const QSize text = metrics.size(Qt::TextShowMnemonic, label.text());
  return {text.width() + margin, std::min(text.height(), metrics.height())};
}

/// Whether a button shows its icon alone.
bool isIconAlone(const QAbstractButton& button) {
  const auto* tool = qobject_cast<const QToolButton*>(&button);
  return tool != nullptr && tool->toolButtonStyle() == Qt::ToolButtonIconOnly &&
         !tool->icon().isNull();
}

/// Whether it belongs to a dock that stands behind another one: such docks, and the bars that no
/// docks share any more, are kept beyond the edges of the window.
bool isPutAway(const QWidget& widget, const QWidget& window) {
  const QWidget* top = &widget;
  while (top->parentWidget() != &window) {
    top = top->parentWidget();
  }
  return (qobject_cast<const QDockWidget*>(top) != nullptr ||
          qobject_cast<const QTabBar*>(top) != nullptr) &&
         !top->geometry().intersects(window.rect());
}

QSize needsOf(const QAbstractButton& button) {
  QSize text = button.fontMetrics().size(Qt::TextShowMnemonic, button.text());
  if (!button.icon().isNull()) {
    text.rwidth() += button.iconSize().width();
  }
  return text;
}

bool fits(const QSize& needed, const QWidget& widget) {
  return needed.width() <= widget.width() + kSlack && needed.height() <= widget.height() + kSlack;
}

void judgeTabs(const QTabBar& tabs, QStringList& cuts) {
  for (int i = 0; i < tabs.count(); ++i) {
    const QRect place = tabs.tabRect(i);
    const QSize text = tabs.fontMetrics().size(Qt::TextShowMnemonic, tabs.tabText(i));
    if (text.width() > place.width() + kSlack && tabs.tabToolTip(i).isEmpty()) {
      cuts << cut(tabs, tabs.tabText(i), text);
    } else if (!tabs.usesScrollButtons() &&
               !tabs.rect().adjusted(-kSlack, 0, kSlack, 0).contains(place)) {
      cuts
          << QStringLiteral("%1 has no room for its tab \"%2\"").arg(nameOf(tabs), tabs.tabText(i));
    }
  }
}

void judgeHeader(const QHeaderView& header, QStringList& cuts) {
  if (header.orientation() != Qt::Horizontal || header.model() == nullptr) {
    return;
  }
  for (int i = 0; i < header.count(); ++i) {
    const QString title = header.model()->headerData(i, Qt::Horizontal).toString();
    const bool told =
        !header.model()->headerData(i, Qt::Horizontal, Qt::ToolTipRole).toString().isEmpty();
    const int needed = header.fontMetrics().horizontalAdvance(title);
    if (!header.isSectionHidden(i) && !told && needed > header.sectionSize(i) + kSlack) {
      cuts << QStringLiteral("%1 cuts off the title \"%2\": %3 of %4")
                  .arg(nameOf(header), title)
                  .arg(header.sectionSize(i))
                  .arg(needed);
    }
  }
}

void judgeWords(const QWidget& widget, QStringList& cuts) {
  if (const auto* label = qobject_cast<const QLabel*>(&widget)) {
    const bool told = !label->toolTip().isEmpty() && label->inherits("lockstep::ui::ElidedLabel");
    if (!label->text().isEmpty() && !told && !fits(needsOf(*label), *label)) {
      cuts << cut(*label, label->text(), needsOf(*label));
    }
  } else if (const auto* button = qobject_cast<const QAbstractButton*>(&widget)) {
    if (!button->text().isEmpty() && !isIconAlone(*button) && !fits(needsOf(*button), *button)) {
      cuts << cut(*button, button->text(), needsOf(*button));
    }
  } else if (const auto* tabs = qobject_cast<const QTabBar*>(&widget)) {
    judgeTabs(*tabs, cuts);
  } else if (const auto* header = qobject_cast<const QHeaderView*>(&widget)) {
    judgeHeader(*header, cuts);
  }
}

void judgePlace(const QWidget& widget, const QWidget& window, QStringList& cuts) {
  const QRect place(widget.mapTo(&window, QPoint(0, 0)), widget.size());
  const QWidget& around = *widget.parentWidget();
  if (place.isEmpty() || isScrolled(widget)) {
    return;
  }
  if (!window.rect().adjusted(-kSlack, -kSlack, kSlack, kSlack).contains(place)) {
    cuts << QStringLiteral("%1 reaches out of the window: %2, %3, %4 x %5")
                .arg(nameOf(widget))
                .arg(place.x())
                .arg(place.y())
                .arg(place.width())
                .arg(place.height());
  } else if (!around.rect()
                  .adjusted(-kSlack, -kSlack, kSlack, kSlack)
                  .contains(widget.geometry())) {
    cuts << QStringLiteral("%1 reaches out of what it stands in, %2")
                .arg(nameOf(widget), nameOf(around));
  }
}

}  // namespace

QStringList cutIn(const QWidget& window) {
  QStringList cuts;
  for (const QWidget* widget : window.findChildren<QWidget*>()) {
    if (!widget->isVisible() || widget->window() != &window || widget->isWindow() ||
        isPutAway(*widget, window)) {
      continue;
    }
    judgePlace(*widget, window, cuts);
    judgeWords(*widget, cuts);
  }
  return cuts;
}

}  // namespace lockstep::tests
