#include "ui/panels/findings/VerdictCard.h"

#include <QCursor>
#include <QEvent>
#include <QLabel>
#include <QPainter>
#include <QTextDocument>
#include <QToolTip>
#include <cmath>
#include <utility>

#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"
#include "ui/panels/TermTips.h"
#include "ui/panels/findings/FindingCard.h"

namespace lockstep::ui {

VerdictCard::VerdictCard(QWidget* parent)
    : QWidget(parent), label_(named(wrapped(), "verdictWords")) {
  setObjectName("verdictCard");
  label_->setTextFormat(Qt::RichText);
  label_->setTextInteractionFlags(Qt::TextBrowserInteraction);
  label_->setFocusPolicy(Qt::TabFocus);  // a click leaves the keys to the view
  label_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  // Its height is what its words need at the width that it gets, and that it takes as it comes.
  label_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  fill(this, inColumn({label_}, 0), cardMargins());
  setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  connect(label_, &QLabel::linkActivated, this, &VerdictCard::activated);
  connect(label_, &QLabel::linkHovered, this, &VerdictCard::say);
}

void VerdictCard::setWords(VerdictWords words) {
  if (words == words_) {
    return;
  }
  words_ = std::move(words);
  setAccessibleName(plainTextOf(words_));
  fit();
  update();
}

// The definition of a figure is one movement of the pointer away, and F1 opens the glossary there.
void VerdictCard::say(const QString& link) {
  clearTerm(label_);
  if (link == words_.headline.link) {
    label_->setToolTip(words_.headline.tip);
  }
  for (const VerdictWords::Part& part : words_.parts) {
    if (part.link == link) {
      setTerm(label_, part.term, part.text + QStringLiteral(". ") + part.tip);
    }
  }
  if (label_->toolTip().isEmpty()) {
    QToolTip::hideText();
  } else {
    QToolTip::showText(QCursor::pos(), label_->toolTip(), label_);
  }
}

// Parts are said in full from the first on, as many as keep it within its lines. Only where that
// does not help the others lose their reasons, too.
void VerdictCard::fit() {
  const QMargins around = cardMargins();
  const int room = width() - around.left() - around.right();
  if (room <= 0) {
    return;
  }
  QTextDocument document;
  document.setDefaultFont(label_->font());
  document.setDocumentMargin(0);
  document.setTextWidth(room);
  QString text;
  double high = 0;
  const auto fits = [&](std::size_t whole, bool reasons) {
    text = richTextOf(words_, whole, reasons);
    document.setHtml(text);
    high = document.size().height();
    return high < (kLines + 0.5) * label_->fontMetrics().lineSpacing();
  };
  bool within = false;
  for (std::size_t whole = words_.parts.size() + 1; !within && whole-- > 0;) {
    within = fits(whole, true);
  }
  if (!within) {
    fits(0, false);
  }
  if (text != label_->text()) {
    label_->setText(text);
  }
  label_->setFixedHeight(static_cast<int>(std::ceil(high)));
}

void VerdictCard::paintEvent(QPaintEvent* /*event*/) {
  emit painted();
  QPainter painter(this);
  drawCard(painter, *this, words_.tone);
}

void VerdictCard::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  fit();
}

void VerdictCard::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange || event->type() == QEvent::PaletteChange) {
    fit();
  }
}

}  // namespace lockstep::ui
