#include "ui/shell/MessageBar.h"

#include <QPainter>
#include <QPushButton>
#include <algorithm>
#include <utility>

#include "ui/panels/CurrentPalette.h"
#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"
#include "ui/panels/Unfolding.h"
#include "ui/shell/Icons.h"

namespace lockstep::ui {
namespace {

QColor colorOf(MessageBar::Kind kind) {
  const Palette& colors = currentPalette();
  return kind == MessageBar::Kind::kGood      ? colors.good
         : kind == MessageBar::Kind::kWarning ? colors.warning
         : kind == MessageBar::Kind::kError   ? colors.error
                                              : currentAccent();
}

Glyph glyphOf(MessageBar::Kind kind) {
  return kind == MessageBar::Kind::kGood      ? Glyph::kCheck
         : kind == MessageBar::Kind::kWarning ? Glyph::kWarning
         : kind == MessageBar::Kind::kError   ? Glyph::kCross
                                              : Glyph::kInfo;
}

// A strip with a band of the kind's colour at its left.
class Message : public QWidget {
 public:
  explicit Message(MessageBar::Kind kind) : kind_(kind), label_(wrapped()) {
    label_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    // A wrapping label asks for a square-ish place; here its width decides.
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Minimum);
    policy.setHeightForWidth(true);
    label_->setSizePolicy(policy);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Minimum);
  }
  [[nodiscard]] QLabel* label() const { return label_; }
  void say(const QString& text) {
    label_->setText(text);
    setAccessibleName(text);
  }
  void setButtons(std::vector<MessageBar::Button> buttons) { buttons_ = std::move(buttons); }
  [[nodiscard]] bool offers(const std::vector<MessageBar::Button>& buttons) const {
    return std::ranges::equal(buttons, buttons_, {}, &MessageBar::Button::text,
                              &MessageBar::Button::text);
  }
  void press(std::size_t button) const {
    const std::function<void()> act = buttons_[button].act;  // it may say something else here
    act();
  }
  [[nodiscard]] MessageBar::Kind kind() const { return kind_; }

 protected:
  void paintEvent(QPaintEvent* /*event*/) override {
    QPainter painter(this);
    const QColor color = colorOf(kind_);
    QColor wash = color;
    wash.setAlphaF(0.10F);
    painter.fillRect(rect(), palette().color(QPalette::Base));
    painter.fillRect(rect(), wash);
    painter.fillRect(QRect(0, 0, 4, height()), color);
    painter.fillRect(QRect(0, height() - 1, width(), 1), currentPalette().gridStrong);
  }

 private:
  MessageBar::Kind kind_;
  std::vector<MessageBar::Button> buttons_;
  QLabel* label_;
};

}  // namespace

MessageBar::MessageBar(QWidget* parent) : QWidget(parent), layout_(new QVBoxLayout(this)) {
  setObjectName("messageBar");
  layout_->setContentsMargins(0, 0, 0, 0);
  layout_->setSpacing(0);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Maximum);
}

// How far something is comes again and again. The message and its buttons stay meanwhile: a press
// of one that went before it was let go would be lost, and whoever has come to it with the keys.
void MessageBar::show(const QString& key, Kind kind, const QString& text,
                      std::vector<Button> buttons) {
  auto* shown = dynamic_cast<Message*>(find(key));
  if (shown != nullptr && kind == Kind::kInfo && shown->kind() == kind && shown->offers(buttons)) {
    shown->setButtons(std::move(buttons));
    shown->say(text);
    return;
  }
  dismiss(key);
  auto* message = new Message(kind);
  message->setObjectName(key);
  message->say(text);
  auto* mark = new QLabel;
  mark->setPixmap(icon(glyphOf(kind)).pixmap(QSize(16, 16)));
  auto* row = inRow({mark, {message->label(), 1}}, 10);
  fill(message, row, {14, 6, 8, 6});
  for (std::size_t i = 0; i < buttons.size(); ++i) {
    auto* push = new QPushButton(buttons[i].text);
    push->setAutoDefault(true);
    connect(push, &QPushButton::clicked, message, [message, i] { message->press(i); });
    row->addWidget(push);
  }
  message->setButtons(std::move(buttons));
  auto* close = toolButton(QStringLiteral("✕"), tr("Close this message"), "");
  close->setAutoRaise(true);
  close->setAccessibleName(tr("Close this message"));
  connect(close, &QToolButton::clicked, this, [this, key] { dismiss(key); });
  row->addWidget(close);
  layout_->insertWidget(kind == Kind::kError ? 0 : -1, message);
  unfold(message);
}

QWidget* MessageBar::find(const QString& key) const {
  for (int i = 0; i < layout_->count(); ++i) {
    if (QWidget* message = layout_->itemAt(i)->widget(); message->objectName() == key) {
      return message;
    }
  }
  return nullptr;
}

void MessageBar::dismiss(const QString& key) {
  if (QWidget* message = find(key)) {
    layout_->removeWidget(message);
    message->hide();
    message->deleteLater();  // it may be its own button that asks
  }
}

void MessageBar::dismissAll() {
  for (int i = layout_->count(); i-- > 0;) {
    dismiss(layout_->itemAt(i)->widget()->objectName());
  }
}

QStringList MessageBar::texts() const {
  QStringList texts;
  for (int i = 0; i < layout_->count(); ++i) {
    texts.append(layout_->itemAt(i)->widget()->accessibleName());
  }
  return texts;
}

}  // namespace lockstep::ui
