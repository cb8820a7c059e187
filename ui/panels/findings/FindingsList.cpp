#include "ui/panels/findings/FindingsList.h"

#include <QApplication>
#include <QPainter>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "ui/panels/CurrentPalette.h"
#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"
#include "ui/panels/TermTips.h"
#include "ui/panels/findings/FindingCard.h"

namespace lockstep::ui {
namespace {

constexpr int kWidth = 660;
constexpr double kMostOfWindow = 0.75;  // of its height
constexpr int kFromEdge = 8;

}  // namespace

FindingsList::FindingsList(QWidget* parent)
    : QDialog(parent, Qt::Popup | Qt::FramelessWindowHint),
      summary_(named(new QLabel, "findingsSummary")),
      scroll_(new QScrollArea),
      content_(new QWidget),
      column_(new QVBoxLayout(content_)) {
  setObjectName("findingsList");
  setWindowTitle(tr("Findings"));
  setAccessibleName(tr("Findings"));
  // A click elsewhere closes it and does nothing else: on the line that opened it, too.
  setAttribute(Qt::WA_NoMouseReplay);
  setTerm(summary_, QStringLiteral("finding"));
  QFont bold = summary_->font();
  bold.setBold(true);
  summary_->setFont(bold);
  summary_->setContentsMargins(10, 6, 10, 6);
  column_->setContentsMargins(0, 0, 0, 0);
  column_->setSpacing(0);
  column_->addStretch(1);
  scroll_->setWidget(content_);
  scroll_->setWidgetResizable(true);
  scroll_->setFrameShape(QFrame::NoFrame);
  scroll_->setFocusPolicy(Qt::NoFocus);
  scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  fill(this, inColumn({summary_, {scroll_, 1}}, 0), {1, 1, 1, 1});
  fillCards();
}

FindingCard* FindingsList::card(std::size_t number) {
  while (cards_.size() <= number) {
    auto* made = new FindingCard;
    made->blockApply(blocked_);
    const std::size_t own = cards_.size();
    cards_.push_back(made);
    column_->insertWidget(static_cast<int>(own), made);
    connect(made, &FindingCard::showRequested, this, [this, own] {
      const diagnosis::Finding finding = found_->findings[own];  // the list may change meanwhile
      close();
      emit showRequested(finding);
    });
    connect(made, &FindingCard::applyRequested, this, [this, own] {
      const diagnosis::Finding finding = found_->findings[own];
      close();
      emit applyRequested(finding);
    });
  }
  return cards_[number];
}

void FindingsList::setDiagnosis(std::shared_ptr<const diagnosis::Diagnosis> found) {
  if (found != nullptr && isVisible() && QApplication::mouseButtons() != Qt::NoButton) {
    return;
  }
  found_ = std::move(found);
  fillCards();
}

void FindingsList::fillCards() {
  std::size_t used = 0;
  if (found_ != nullptr) {
    for (const diagnosis::Finding& finding : found_->findings) {
      FindingCard* shown = card(used++);
      shown->setFinding(finding, found_->stepMs);
      shown->show();
    }
  }
  summary_->setText(found_ != nullptr ? summaryOf(*found_) : tr("Findings"));
  if (used == 0) {
    FindingCard* only = card(used++);
    const FindingsHeadline nothing = headlineOf(found_.get());
    only->setNothing(nothing.tone, nothing.texts.front());
    only->show();
  }
  for (std::size_t i = used; i < cards_.size(); ++i) {
    cards_[i]->hide();
  }
}

void FindingsList::blockApply(const QString& reason) {
  blocked_ = reason;
  for (FindingCard* one : cards_) {
    one->blockApply(reason);
  }
}

void FindingsList::openBelow(const QRect& from) {
  scroll_->verticalScrollBar()->setValue(0);
  moveBelow(from);
  show();
  moveBelow(from);  // now that fonts are known for sure
  // Enter shows the place of the first finding, Tab leads on.
  if (found_ != nullptr && !found_->findings.empty()) {
    cards_.front()->showButton()->setFocus(Qt::PopupFocusReason);
  }
}

// As high as its cards are, as far as the window has room below the line.
void FindingsList::moveBelow(const QRect& from) {
  for (FindingCard* one : cards_) {
    one->layout()->activate();  // it may have other words since it was laid out
  }
  content_->layout()->activate();
  const QWidget* window = parentWidget();
  const QRect around(window->mapToGlobal(QPoint(0, 0)), window->size());
  const int wide = std::min(kWidth, around.width() - 2 * kFromEdge);
  const int bar = scroll_->verticalScrollBar()->sizeHint().width();
  const int head = summary_->sizeHint().height() + 2;
  const int most = std::min(static_cast<int>(kMostOfWindow * around.height()),
                            around.bottom() - kFromEdge - from.bottom());
  int high = head + content_->heightForWidth(wide - 2);
  if (high > most) {
    high = std::min(most, head + content_->heightForWidth(wide - 2 - bar));
  }
  const int left = std::clamp(from.right() - wide + 1, around.left() + kFromEdge,
                              std::max(around.left() + kFromEdge,
                                       around.right() - kFromEdge - wide + 1));
  setGeometry(left, from.bottom() + 3, wide, high);
}

void FindingsList::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Window));
  painter.setPen(currentPalette().gridStrong);
  painter.drawRect(rect().adjusted(0, 0, -1, -1));
}

}  // namespace lockstep::ui
