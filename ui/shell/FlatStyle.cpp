#include "ui/shell/FlatStyle.h"

#include <QAbstractSpinBox>
#include <QCursor>
#include <QEvent>
#include <QLabel>
#include <QPainter>
#include <QScreen>
#include <QStyleFactory>
#include <QStyleOption>
#include <QTabBar>
#include <algorithm>

#include "ui/panels/Spacing.h"
#include "ui/shell/FlatShapes.h"

namespace lockstep::ui {
namespace {

constexpr int kMotionMs = 150;
constexpr int kScrollBar = 12;
constexpr int kShortestHandle = 28;
constexpr int kTipCharacters = 60;
constexpr int kMenuMark = kTwoSpaces;  // what the chevron of a menu takes beside the words

/// A copy of an option with another colour in its palette, for what Fusion draws.
template <typename Option>
Option recoloured(const Option& option, QPalette::ColorRole role, const QColor& colour) {
  Option copy = option;
  copy.palette.setColor(role, colour);
  return copy;
}

bool vertical(const QStyleOptionSlider& bar) { return bar.orientation == Qt::Vertical; }

/// Where the handle of a scroll bar lies along it, and how long it is. It has no buttons at its
/// ends: the whole of it is the groove.
std::pair<int, int> handleOf(const QStyleOptionSlider& bar) {
  const int room = vertical(bar) ? bar.rect.height() : bar.rect.width();
  const auto range = static_cast<qint64>(bar.maximum) - bar.minimum;
  if (range <= 0) {
    return {0, room};
  }
  const auto share = static_cast<int>(static_cast<qint64>(bar.pageStep) * room /
                                      (range + bar.pageStep));
  const int length = std::min(room, std::max(share, kShortestHandle));
  return {QStyle::sliderPositionFromValue(bar.minimum, bar.maximum, bar.sliderPosition,
                                          room - length, bar.upsideDown),
          length};
}

QRect alongBar(const QStyleOptionSlider& bar, int from, int length) {
  return vertical(bar)
             ? QRect(bar.rect.left(), bar.rect.top() + from, bar.rect.width(), length)
             : QRect(bar.rect.left() + from, bar.rect.top(), length, bar.rect.height());
}

void drawScrollBar(const QStyleOptionSlider& bar, QPainter& painter) {
  if (bar.maximum <= bar.minimum) {
    return;
  }
  const auto [from, length] = handleOf(bar);
  QStyleOption handle = bar;
  handle.state.setFlag(QStyle::State_Sunken, bar.activeSubControls == QStyle::SC_ScrollBarSlider &&
                                                 bar.state.testFlag(QStyle::State_Sunken));
  drawScrollHandle(painter, handle, alongBar(bar, from, length));
}

void drawToolButtonBox(const QStyleOption& option, QPainter& painter) {
  const bool flat = option.state.testFlag(QStyle::State_AutoRaise);
  if (!flat) {
    drawPushBox(painter, option, false);
    return;
  }
  if (option.state.testFlag(QStyle::State_On)) {
    drawBox(painter, option.rect, option.palette.color(QPalette::Highlight), Qt::NoPen);
  } else if (option.state & QStyle::State_Sunken) {
    drawBox(painter, option.rect, washOf(option.palette, 0.14F), Qt::NoPen);
  } else if (option.state.testFlag(QStyle::State_MouseOver) &&
             option.state.testFlag(QStyle::State_Enabled)) {
    drawBox(painter, option.rect, washOf(option.palette, 0.07F), Qt::NoPen);
  }
}

/// Whether the whole of it opens a menu, which a chevron says; that of a part of its own Fusion has
/// room for.
bool opensMenu(const QStyleOptionToolButton& button) {
  return button.features.testFlag(QStyleOptionToolButton::HasMenu) &&
         !button.features.testFlag(QStyleOptionToolButton::MenuButtonPopup);
}

/// A line along one edge of a rectangle.
void drawEdge(QPainter& painter, const QRect& rect, Qt::Edge edge, const QColor& ink) {
  const bool upright = edge == Qt::LeftEdge || edge == Qt::RightEdge;
  QRect line(rect.topLeft(), upright ? QSize(1, rect.height()) : QSize(rect.width(), 1));
  if (edge == Qt::RightEdge) {
    line.moveRight(rect.right());
  } else if (edge == Qt::BottomEdge) {
    line.moveBottom(rect.bottom());
  }
  painter.fillRect(line, ink);
}

/// The border between two parts of the window: a thin line in the middle of what can be dragged,
/// in the accent colour under the pointer.
void drawBorder(const QStyleOption& option, QPainter& painter) {
  const QRect& rect = option.rect;
  const bool held = option.state & (QStyle::State_MouseOver | QStyle::State_Sunken);
  const QColor ink = held ? accentOf(option.palette) : outlineOf(option.palette);
  if (rect.width() < rect.height()) {
    painter.fillRect(QRect(rect.center().x(), rect.top(), 1, rect.height()), ink);
  } else {
    painter.fillRect(QRect(rect.left(), rect.center().y(), rect.width(), 1), ink);
  }
}

// Qt breaks tips of rich text alone: plain words are one line as wide as the screen. All tips are
// shown by one label, which is caught here as it comes up, and, while it is up, as it gets other
// words. Where it stands Qt chose for its width of before.
void breakTip(QLabel& tip) {
  if (tip.wordWrap() || tip.width() <= kTipCharacters * tip.fontMetrics().averageCharWidth()) {
    return;
  }
  tip.setWordWrap(true);
  tip.resize(tip.sizeHint() + QSize(1, 0));
  const QRect screen = tip.screen()->geometry();
  const int right = std::min(std::max(tip.x(), QCursor::pos().x()), screen.right() - tip.width());
  const int bottom = std::min(tip.y(), screen.bottom() - tip.height());
  tip.move(std::max(screen.left(), right), std::max(screen.top(), bottom));
}

}  // namespace

FlatStyle::FlatStyle() : QProxyStyle(QStyleFactory::create(QStringLiteral("Fusion"))) {}

void FlatStyle::polish(QWidget* widget) {
  QProxyStyle::polish(widget);
  if (widget->inherits("QTipLabel")) {
    widget->installEventFilter(this);
  }
}

bool FlatStyle::eventFilter(QObject* watched, QEvent* event) {
  auto* tip = qobject_cast<QLabel*>(watched);
  if (tip != nullptr && tip->isVisible() &&
      (event->type() == QEvent::Show || event->type() == QEvent::Resize)) {
    breakTip(*tip);
  }
  return QProxyStyle::eventFilter(watched, event);
}

int FlatStyle::pixelMetric(PixelMetric metric, const QStyleOption* option,
                           const QWidget* widget) const {
  switch (metric) {
    case PM_LayoutHorizontalSpacing:
    case PM_LayoutVerticalSpacing:
    case PM_LayoutLeftMargin:
    case PM_LayoutTopMargin:
    case PM_LayoutRightMargin:
    case PM_LayoutBottomMargin:
    case PM_ToolTipLabelFrameWidth: return kSpace;
    // Nine views stand beside what was found in a window of 1,280 pixels.
    case PM_TabBarTabHSpace: return kSpace + kHalfSpace;
    case PM_TabBarTabVSpace: return kSpace + kHalfSpace;
    case PM_TabBarTabOverlap:
    case PM_TabBarTabShiftVertical:
    case PM_TabBarTabShiftHorizontal:
    case PM_TabBarBaseOverlap: return 0;
    case PM_ScrollBarExtent: return kScrollBar;
    case PM_ScrollBarSliderMin: return kShortestHandle;
    default: return QProxyStyle::pixelMetric(metric, option, widget);
  }
}

int FlatStyle::styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                         QStyleHintReturn* more) const {
  switch (hint) {
    case SH_Widget_Animation_Duration: return motion_ ? kMotionMs : 0;
    case SH_Widget_Animate: return motion_ ? 1 : 0;
    case SH_DialogButtonBox_ButtonsHaveIcons: return 0;
    default: return QProxyStyle::styleHint(hint, option, widget, more);
  }
}

// Fusion draws the mark of a menu into the corner of the button, over its last letter.
QSize FlatStyle::sizeFromContents(ContentsType type, const QStyleOption* option,
                                  const QSize& contents, const QWidget* widget) const {
  QSize size = QProxyStyle::sizeFromContents(type, option, contents, widget);
  const auto* button = qstyleoption_cast<const QStyleOptionToolButton*>(option);
  if (type == CT_ToolButton && button != nullptr && opensMenu(*button)) {
    size.rwidth() += kMenuMark;
  }
  return size;
}

QRect FlatStyle::subControlRect(ComplexControl control, const QStyleOptionComplex* option,
                                SubControl part, const QWidget* widget) const {
  const auto* bar = qstyleoption_cast<const QStyleOptionSlider*>(option);
  if (control != CC_ScrollBar || bar == nullptr) {
    return QProxyStyle::subControlRect(control, option, part, widget);
  }
  const auto [from, length] = handleOf(*bar);
  const int room = vertical(*bar) ? bar->rect.height() : bar->rect.width();
  QRect rect;
  switch (part) {
    case SC_ScrollBarSlider: rect = alongBar(*bar, from, length); break;
    case SC_ScrollBarGroove: rect = bar->rect; break;
    case SC_ScrollBarSubPage: rect = alongBar(*bar, 0, from); break;
    case SC_ScrollBarAddPage: rect = alongBar(*bar, from + length, room - from - length); break;
    default: return {};
  }
  return visualRect(bar->direction, bar->rect, rect);
}

void FlatStyle::drawPrimitive(PrimitiveElement element, const QStyleOption* option,
                              QPainter* painter, const QWidget* widget) const {
  switch (element) {
    case PE_PanelMenuBar:
    case PE_PanelStatusBar:
    case PE_FrameStatusBarItem: return;
    case PE_FrameTabBarBase: {
      const auto* base = qstyleoption_cast<const QStyleOptionTabBarBase*>(option);
      const bool below = base != nullptr && base->shape == QTabBar::RoundedSouth;
      drawEdge(*painter, option->rect, below ? Qt::TopEdge : Qt::BottomEdge,
               outlineOf(option->palette));
      return;
    }
    case PE_PanelButtonCommand: {
      const auto* button = qstyleoption_cast<const QStyleOptionButton*>(option);
      drawPushBox(*painter, *option,
                  button != nullptr && button->features.testFlag(QStyleOptionButton::DefaultButton));
      return;
    }
    case PE_PanelButtonTool: drawToolButtonBox(*option, *painter); return;
    case PE_PanelLineEdit: {
      const auto* frame = qstyleoption_cast<const QStyleOptionFrame*>(option);
      if (frame != nullptr && frame->lineWidth > 0) {
        drawFieldBox(*painter, *option);
        return;
      }
      break;
    }
    case PE_FrameLineEdit: drawFieldBox(*painter, *option); return;
    case PE_PanelTipLabel:
      painter->fillRect(option->rect, option->palette.toolTipBase());
      painter->setPen(outlineOf(option->palette));
      painter->drawRect(option->rect.adjusted(0, 0, -1, -1));
      return;
    case PE_FrameFocusRect:
      // Not around each cell that is clicked.
      if (option->state.testFlag(State_KeyboardFocusChange)) {
        drawBox(*painter, option->rect, Qt::transparent, QPen(accentOf(option->palette), 1.5));
      }
      return;
    case PE_IndicatorCheckBox:
    case PE_IndicatorItemViewItemCheck: drawCheckBox(*painter, *option); return;
    case PE_IndicatorRadioButton: drawRadioButton(*painter, *option); return;
    case PE_IndicatorDockWidgetResizeHandle: drawBorder(*option, *painter); return;
    case PE_IndicatorArrowDown:
      drawChevron(*painter, option->rect, 0, option->palette.color(QPalette::ButtonText));
      return;
    case PE_IndicatorArrowUp:
      drawChevron(*painter, option->rect, 180, option->palette.color(QPalette::ButtonText));
      return;
    default: break;
  }
  QProxyStyle::drawPrimitive(element, option, painter, widget);
}

void FlatStyle::drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                            const QWidget* widget) const {
  switch (element) {
    case CE_ToolBar:
      painter->fillRect(option->rect, option->palette.window());
      drawEdge(*painter, option->rect, Qt::BottomEdge, outlineOf(option->palette));
      return;
    case CE_MenuBarEmptyArea: painter->fillRect(option->rect, option->palette.window()); return;
    case CE_Splitter: drawBorder(*option, *painter); return;
    case CE_HeaderSection:
    case CE_HeaderEmptyArea:
      painter->fillRect(option->rect, option->palette.window());
      drawEdge(*painter, option->rect, Qt::BottomEdge, outlineOf(option->palette));
      if (element == CE_HeaderSection) {  // where its width is dragged
        drawEdge(*painter, option->rect.adjusted(0, kHalfSpace, 0, -kHalfSpace), Qt::RightEdge,
                 outlineOf(option->palette));
      }
      return;
    case CE_TabBarTabShape:
      if (const auto* tab = qstyleoption_cast<const QStyleOptionTab*>(option)) {
        drawTab(*painter, *tab);
        return;
      }
      break;
    case CE_TabBarTabLabel:
      if (const auto* tab = qstyleoption_cast<const QStyleOptionTab*>(option);
          tab != nullptr && !tab->state.testFlag(State_Selected) &&
          tab->state.testFlag(State_Enabled)) {
        const auto quiet = recoloured(*tab, QPalette::WindowText,
                                      tab->palette.color(QPalette::PlaceholderText));
        QProxyStyle::drawControl(element, &quiet, painter, widget);
        return;
      }
      break;
    case CE_PushButton:
      // Its focus is the line of its box (drawPushBox): no second one inside of it.
      if (const auto* button = qstyleoption_cast<const QStyleOptionButton*>(option)) {
        proxy()->drawControl(CE_PushButtonBevel, button, painter, widget);
        QStyleOptionButton label = *button;
        label.rect = subElementRect(SE_PushButtonContents, button, widget);
        proxy()->drawControl(CE_PushButtonLabel, &label, painter, widget);
        return;
      }
      break;
    default: break;
  }
  QProxyStyle::drawControl(element, option, painter, widget);
}

void FlatStyle::drawMenuButton(const QStyleOptionToolButton& button, QPainter& painter,
                               const QWidget* widget) const {
  QStyleOptionToolButton box = button;
  box.features.setFlag(QStyleOptionToolButton::HasMenu, false);
  box.text.clear();
  box.icon = QIcon();
  QProxyStyle::drawComplexControl(CC_ToolButton, &box, &painter, widget);
  QStyleOptionToolButton words = button;
  const QRect rect = button.rect;
  words.rect = visualRect(button.direction, rect, rect.adjusted(0, 0, -kMenuMark, 0));
  proxy()->drawControl(CE_ToolButtonLabel, &words, &painter, widget);
  const QRect mark(rect.right() + 1 - kMenuMark, rect.top(), kMenuMark - kHalfSpace,
                   rect.height());
  drawChevron(painter, visualRect(button.direction, rect, mark), 0,
              button.palette.color(button.state.testFlag(State_Enabled) ? QPalette::Active
                                                                        : QPalette::Disabled,
                                   QPalette::ButtonText));
}

void FlatStyle::drawComplexControl(ComplexControl control, const QStyleOptionComplex* option,
                                   QPainter* painter, const QWidget* widget) const {
  switch (control) {
    case CC_ScrollBar:
      if (const auto* bar = qstyleoption_cast<const QStyleOptionSlider*>(option)) {
        drawScrollBar(*bar, *painter);
        return;
      }
      break;
    case CC_ToolButton:
      if (const auto* button = qstyleoption_cast<const QStyleOptionToolButton*>(option);
          button != nullptr && opensMenu(*button)) {
        drawMenuButton(*button, *painter, widget);
        return;
      }
      break;
    case CC_ComboBox:
      if (const auto* box = qstyleoption_cast<const QStyleOptionComboBox*>(option)) {
        if (!box->frame) {
          // It stands in a line of words.
        } else if (box->editable) {
          drawFieldBox(*painter, *box);
        } else {
          drawPushBox(*painter, *box, false);
        }
        const QRect arrow = proxy()->subControlRect(control, option, SC_ComboBoxArrow, widget);
        drawChevron(*painter, arrow, 0, box->palette.color(QPalette::ButtonText));
        return;
      }
      break;
    case CC_SpinBox:
      if (const auto* box = qstyleoption_cast<const QStyleOptionSpinBox*>(option)) {
        if (box->frame) {
          drawFieldBox(*painter, *box);
        }
        const auto step = [&](SubControl part, QAbstractSpinBox::StepEnabledFlag able, qreal turn) {
          if (box->subControls.testFlag(part)) {
            const bool can = box->stepEnabled.testFlag(able);
            drawChevron(*painter, proxy()->subControlRect(control, option, part, widget), turn,
                        can ? box->palette.color(QPalette::ButtonText) : outlineOf(box->palette));
          }
        };
        if (box->buttonSymbols != QAbstractSpinBox::NoButtons) {
          step(SC_SpinBoxUp, QAbstractSpinBox::StepUpEnabled, 180);
          step(SC_SpinBoxDown, QAbstractSpinBox::StepDownEnabled, 0);
        }
        return;
      }
      break;
    case CC_Slider:
      if (const auto* slider = qstyleoption_cast<const QStyleOptionSlider*>(option)) {
        const auto strong =
            recoloured(*slider, QPalette::Highlight, accentOf(slider->palette));
        QProxyStyle::drawComplexControl(control, &strong, painter, widget);
        return;
      }
      break;
    default: break;
  }
  QProxyStyle::drawComplexControl(control, option, painter, widget);
}

}  // namespace lockstep::ui
