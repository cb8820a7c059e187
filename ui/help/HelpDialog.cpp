#include "ui/help/HelpDialog.h"

#include <QLineEdit>
#include <QSignalBlocker>
#include <QSplitter>
#include <QTextBrowser>
#include <QTreeWidget>
#include <QUrl>
#include <utility>

#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"
#include "ui/panels/ListKeys.h"

namespace lockstep::ui {
namespace {

constexpr QSize kWish(860, 600);
constexpr int kFromEdge = 40;
constexpr int kTopicRole = Qt::UserRole;

}  // namespace

HelpDialog::HelpDialog(QWidget* parent)
    : QDialog(parent),
      line_(filterLine("helpSearch", tr("Search keys, commands, views and terms"),
                       tr("Search the help"))),
      tree_(named(new QTreeWidget, "helpTopics", tr("Topics"))),
      page_(named(new QTextBrowser, "helpPage", tr("Page"))) {
  setObjectName("help");
  setWindowTitle(tr("Help"));
  tree_->setHeaderHidden(true);
  tree_->setUniformRowHeights(true);
  tree_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  page_->setOpenLinks(false);
  page_->setFrameShape(QFrame::NoFrame);
  auto* parts = new QSplitter;
  parts->addWidget(tree_);
  parts->addWidget(page_);
  parts->setStretchFactor(0, 2);
  parts->setStretchFactor(1, 5);
  parts->setChildrenCollapsible(false);
  ui::fill(this, inColumn({line_, {parts, 1}}), {8, 8, 8, 8});
  line_->installEventFilter(this);
  connect(line_, &QLineEdit::textChanged, this, &HelpDialog::fill);
  connect(tree_, &QTreeWidget::currentItemChanged, this, &HelpDialog::showChosen);
  connect(page_, &QTextBrowser::anchorClicked, this,
          [this](const QUrl& link) { follow(link.path(QUrl::FullyDecoded)); });
}

void HelpDialog::setTopics(std::vector<HelpTopic> topics) {
  topics_ = std::move(topics);
  line_->clear();
  fill({});
}

void HelpDialog::openAt(const QString& chapter, const QString& title) {
  line_->clear();
  choose(itemOf(chapter, title));
  const QSize room =
      parentWidget() == nullptr ? kWish : parentWidget()->size() - QSize(kFromEdge, 2 * kFromEdge);
  resize(kWish.boundedTo(room));
  show();
  raise();
  activateWindow();
  line_->setFocus(Qt::OtherFocusReason);
}

// Chapters keep their order, and topics theirs; the topic that is meant most is the one that is
// shown.
void HelpDialog::fill(const QString& typed) {
  const QSignalBlocker quiet(tree_);
  tree_->clear();
  QTreeWidgetItem* chapter = nullptr;
  QTreeWidgetItem* best = nullptr;
  int bestScore = 0;
  for (std::size_t i = 0; i < topics_.size(); ++i) {
    const HelpTopic& topic = topics_[i];
    const int score = answerScore(topic, typed);
    if (score == 0) {
      continue;
    }
    if (chapter == nullptr || chapter->text(0) != topic.chapter) {
      chapter = new QTreeWidgetItem(tree_, {topic.chapter});
      chapter->setFlags(Qt::ItemIsEnabled);
      chapter->setExpanded(true);
    }
    auto* item = new QTreeWidgetItem(chapter, {topic.title});
    item->setData(0, kTopicRole, QVariant::fromValue(static_cast<qulonglong>(i)));
    if (score > bestScore) {
      bestScore = score;
      best = item;
    }
  }
  choose(best);
}

void HelpDialog::choose(QTreeWidgetItem* item) {
  const QSignalBlocker quiet(tree_);
  tree_->setCurrentItem(item);
  if (item != nullptr) {
    tree_->scrollToItem(item);
  }
  showChosen();
}

void HelpDialog::showChosen() {
  const QTreeWidgetItem* item = tree_->currentItem();
  if (const HelpTopic* topic = topicOf(item)) {
    page_->setHtml(htmlOf(*topic, line_->text()));
  } else if (item == nullptr) {  // else it is a chapter, which has no page
    page_->setHtml(
        QStringLiteral("<p>%1</p>")
            .arg(tr("Nothing here has \"%1\" in it.").arg(line_->text()).toHtmlEscaped()));
  }
}

void HelpDialog::follow(const QString& title) {
  line_->clear();  // the topic may not be among those that were found
  choose(itemOf({}, title));
}

const HelpTopic* HelpDialog::topicOf(const QTreeWidgetItem* item) const {
  const QVariant at = item == nullptr ? QVariant() : item->data(0, kTopicRole);
  return at.isValid() ? &topics_[static_cast<std::size_t>(at.toULongLong())] : nullptr;
}

QTreeWidgetItem* HelpDialog::itemOf(const QString& chapter, const QString& title) const {
  QTreeWidgetItem* first = nullptr;
  for (int i = 0; i < tree_->topLevelItemCount(); ++i) {
    const QTreeWidgetItem* top = tree_->topLevelItem(i);
    for (int k = 0; k < top->childCount(); ++k) {
      QTreeWidgetItem* item = top->child(k);
      first = first == nullptr ? item : first;
      if ((chapter.isEmpty() || top->text(0) == chapter) &&
          (title.isEmpty() || item->text(0) == title)) {
        return item;
      }
    }
  }
  return first;
}

QString HelpDialog::shownTitle() const {
  const HelpTopic* topic = topicOf(tree_->currentItem());
  return topic == nullptr ? QString() : topic->title;
}

QString HelpDialog::shownText() const {
  return page_->toPlainText();
}

bool HelpDialog::eventFilter(QObject* watched, QEvent* event) {
  return movedInList(event, tree_) || QDialog::eventFilter(watched, event);
}

}  // namespace lockstep::ui
