#include "ui/shell/CommandPalette.h"

#include <QListView>
#include <QPainter>
#include <QStandardItemModel>
#include <QStyledItemDelegate>
#include <algorithm>
#include <vector>

#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"
#include "ui/panels/ListKeys.h"

namespace lockstep::ui {
namespace {

constexpr int kNoteRole = Qt::UserRole + 1;
constexpr int kWidth = 620;
constexpr int kHeight = 420;

/// An entry's text at the left, its note at the right.
class LineDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    QStyledItemDelegate::paint(painter, option, index);
    const bool selected = option.state.testFlag(QStyle::State_Selected);
    painter->save();
    painter->setPen(option.palette.color(selected ? QPalette::HighlightedText
                                                  : QPalette::PlaceholderText));
    painter->drawText(option.rect.adjusted(0, 0, -10, 0), Qt::AlignRight | Qt::AlignVCenter,
                      index.data(kNoteRole).toString());
    painter->restore();
  }

  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    return QStyledItemDelegate::sizeHint(option, index) + QSize(0, 8);
  }
};

}  // namespace

// Note [How well a text matches]
//
// The typed letters must occur in the text in their order; of all ways to place them the best one
// counts. It is found letter by letter: best[at] is what the letters so far are worth when the last
// of them is text[at], and the next letter goes on from the best place anywhere before, or from the
// place just before, which is worth more.
//
//   "rs" in "Run: Stop"     R 1 + 1 + 5 (begins a word), S 1 + 5          13
//   "rs" in "Recent runs"   r 1 + 1 + 5, s 1 + 3 (ends a word)            11
//
// The very first 1 tells a place from none. The cost is letters times length of the text, for a few
// hundred entries at each key.
int matchScore(const QString& typed, const QString& text) {
  constexpr int kLetter = 1;
  constexpr int kTogether = 6;
  constexpr int kBeginsWord = 5;
  constexpr int kEndsWord = 3;
  const auto isBorder = [&text](qsizetype at) {
    return at < 0 || at == text.size() || !text[at].isLetterOrNumber();
  };
  const QString letters = QString(typed).remove(' ').toCaseFolded();
  const QString folded = text.toCaseFolded();
  if (letters.isEmpty()) {
    return 1;
  }
  // The best way to find the letters so far whose last one is text[at]; 0: there is none.
  std::vector<int> best(static_cast<std::size_t>(folded.size()), 0);
  for (qsizetype i = 0; i < letters.size(); ++i) {
    std::vector<int> next(best.size(), 0);
    int before = i == 0 ? 1 : 0;  // the best that ends anywhere before `at`
    for (qsizetype at = 0; at < std::min(folded.size(), text.size()); ++at) {
      const auto index = static_cast<std::size_t>(at);
      const int joined = at > 0 && best[index - 1] > 0 ? best[index - 1] + kTogether : 0;
      if (const int soFar = std::max(before, joined); soFar > 0 && folded[at] == letters[i]) {
        next[index] = soFar + kLetter + (isBorder(at - 1) ? kBeginsWord : 0) +
                      (i + 1 == letters.size() && isBorder(at + 1) ? kEndsWord : 0);
      }
      before = std::max(before, best[index]);
    }
    best = std::move(next);
  }
  return best.empty() ? 0 : *std::max_element(best.begin(), best.end());
}

CommandPalette::CommandPalette(QWidget* parent)
    : QDialog(parent, Qt::Popup | Qt::FramelessWindowHint),
      line_(filterLine("commandLine",
                       tr("Type a command, a view, an experiment, a run or an iteration"), {})),
      list_(new QListView),
      model_(new QStandardItemModel(this)) {
  setObjectName("commandPalette");
  setWindowTitle(tr("Commands"));
  list_->setModel(model_);
  list_->setItemDelegate(new LineDelegate(list_));
  list_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  list_->setUniformItemSizes(true);
  list_->setFocusPolicy(Qt::NoFocus);
  line_->installEventFilter(this);
  fill(this, inColumn({line_, {list_, 1}}), {6, 6, 6, 6});
  connect(line_, &QLineEdit::textEdited, this, &CommandPalette::refresh);
  connect(line_, &QLineEdit::returnPressed, this, &CommandPalette::act);
  connect(list_, &QListView::clicked, this, &CommandPalette::act);
}

void CommandPalette::open(std::vector<Entry> entries) {
  entries_ = std::move(entries);
  line_->clear();
  refresh();
  const QWidget* window = parentWidget();
  const QSize size(std::min(kWidth, window->width() - 20), std::min(kHeight, window->height() - 80));
  resize(size);
  move(window->mapToGlobal(QPoint((window->width() - size.width()) / 2, 60)));
  show();
  line_->setFocus(Qt::PopupFocusReason);
}

void CommandPalette::refresh() {
  std::vector<std::pair<int, std::size_t>> found;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (const int score = matchScore(line_->text(), entries_[i].text); score > 0) {
      found.emplace_back(score, i);
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  shown_.clear();
  model_->clear();
  for (const auto& [score, i] : found) {
    const Entry& entry = entries_[i];
    auto* item = new QStandardItem(entry.text);
    item->setData(entry.reason.isEmpty() ? entry.note : entry.reason, kNoteRole);
    item->setEnabled(entry.reason.isEmpty());
    model_->appendRow(item);
    shown_.push_back(i);
  }
  list_->setCurrentIndex(model_->index(0, 0));
}

void CommandPalette::act() {
  const int row = list_->currentIndex().row();
  if (row < 0 || !entries_[shown_[static_cast<std::size_t>(row)]].reason.isEmpty()) {
    return;
  }
  // A copy: the command may be the palette's own, which takes other entries.
  const auto chosen = entries_[shown_[static_cast<std::size_t>(row)]].act;
  hide();
  chosen();
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
  // The keyboard is the line's as long as the palette is open.
  return movedInList(event, list_) || QDialog::eventFilter(watched, event);
}

}  // namespace lockstep::ui
