#include "ui/shell/MessageBar.h"

#include <QPainter>
#include <QPushButton>

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
  Message(MessageBar::Kind kind, const QString& text) : kind_(kind), label_(wrapped(text)) {
    label_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    // A wrapping label asks for a square-ish place; here its width decides.
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Minimum);
    policy.setHeightForWidth(true);
    label_->setSizePolicy(policy);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Minimum);
  }
  [[nodiscard]] QLabel* label() const { return label_; }

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
  QLabel* label_;
};

}  // namespace

MessageBar::MessageBar(QWidget* parent) : QWidget(parent), layout_(new QVBoxLayout(this)) {
  setObjectName("messageBar");
  layout_->setContentsMargins(0, 0, 0, 0);
  layout_->setSpacing(0);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Maximum);
}

void MessageBar::show(const QString& key, Kind kind, const QString& text,
                      std::vector<Button> buttons) {
  dismiss(key);
  auto* message = new Message(kind, text);
  message->setObjectName(key);
  message->setAccessibleName(text);
  auto* mark = new QLabel;
  mark->setPixmap(icon(glyphOf(kind)).pixmap(QSize(16, 16)));
  auto* row = inRow({mark, {message->label(), 1}}, 10);
  fill(message, row, {14, 6, 8, 6});
  for (Button& button : buttons) {
    auto* push = new QPushButton(button.text);
    push->setAutoDefault(true);
    connect(push, &QPushButton::clicked, this, [act = std::move(button.act)] { act(); });
    row->addWidget(push);
  }
  auto* close = toolButton(QStringLiteral("✕"), tr("Close this message"), "");
  close->setAutoRaise(true);
  close->setAccessibleName(tr("Close this message"));
  connect(close, &QToolButton::clicked, this, [this, key] { dismiss(key); });
  row->addWidget(close);
  layout_->insertWidget(kind == Kind::kError ? 0 : -1, message);
  unfold(message);
}

void MessageBar::dismiss(const QString& key) {
  for (QObject* child : children()) {
    auto* message = qobject_cast<QWidget*>(child);
    if (message != nullptr && message->objectName() == key) {
      layout_->removeWidget(message);
      // A child until it is deleted; without the name the next message of this key does not find
      // it.
      message->setObjectName(QString());
      message->hide();
      message->deleteLater();  // it may be its own button that asks
    }
  }
}

void MessageBar::dismissAll() {
  for (int i = layout_->count(); i-- > 0;) {
    dismiss(layout_->itemAt(i)->widget()->objectName());
  }
}

bool MessageBar::shows(const QString& key) const {
  for (int i = 0; i < layout_->count(); ++i) {
    if (layout_->itemAt(i)->widget()->objectName() == key) {
      return true;
    }
  }
  return false;
}

QStringList MessageBar::texts() const {
  QStringList texts;
  for (int i = 0; i < layout_->count(); ++i) {
    texts.append(layout_->itemAt(i)->widget()->accessibleName());
  }
  return texts;
}

}  // namespace lockstep::ui
