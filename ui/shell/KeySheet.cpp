#include "ui/shell/KeySheet.h"

#include <QDialogButtonBox>
#include <QGridLayout>
#include <QLabel>
#include <QScrollArea>
#include <QVBoxLayout>

namespace lockstep::ui {
namespace {

class Sheet {
 public:
  explicit Sheet(QGridLayout* grid) : grid_(grid) {}

  void title(const QString& text) {
    auto* label = new QLabel(text);
    QFont font = label->font();
    font.setBold(true);
    label->setFont(font);
    if (row_ > 0) {
      grid_->setRowMinimumHeight(row_++, 8);
    }
    grid_->addWidget(label, row_++, 0, 1, 2);
  }

  void line(const QString& keys, const QString& text) {
    auto* key = new QLabel(keys);
    key->setForegroundRole(QPalette::Link);
    grid_->addWidget(key, row_, 0);
    grid_->addWidget(new QLabel(text), row_++, 1);
  }

 private:
  QGridLayout* grid_;
  int row_ = 0;
};

QString keysOf(const QAction* action) {
  QStringList keys;
  for (const QKeySequence& key : action->shortcuts()) {
    keys.append(key.toString(QKeySequence::NativeText));
  }
  return keys.join(KeySheet::tr(" or "));
}

}  // namespace

KeySheet::KeySheet(const std::vector<Group>& groups, QWidget* parent) : QDialog(parent) {
  setObjectName("keySheet");
  setWindowTitle(tr("Keys and mouse"));
  auto* row = new QHBoxLayout;
  row->setSpacing(36);
  const auto column = [&] {
    auto* grid = new QGridLayout;
    grid->setHorizontalSpacing(18);
    grid->setVerticalSpacing(5);
    auto* top = new QVBoxLayout;
    top->addLayout(grid);
    top->addStretch(1);
    row->addLayout(top);
    return Sheet(grid);
  };

  Sheet left = column();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i + 1 == groups.size()) {
      break;  // the longest group, the timeline's, has the right column
    }
    left.title(groups[i].title);
    for (const QAction* action : groups[i].actions) {
      if (!action->shortcuts().isEmpty()) {
        left.line(keysOf(action), action->text().remove('&'));
      }
    }
  }
  Sheet right = column();
  if (!groups.empty()) {
    right.title(groups.back().title);
    for (const QAction* action : groups.back().actions) {
      if (!action->shortcuts().isEmpty()) {
        right.line(keysOf(action), action->text().remove('&'));
      }
    }
  }
  right.title(tr("Mouse in the timeline"));
  right.line(tr("Wheel"), tr("Zoom at the pointer"));
  right.line(tr("Shift + wheel"), tr("Move in time"));
  right.line(tr("Drag with the right or middle button"), tr("Move in time"));
  right.line(tr("Drag over empty space"), tr("Measure"));
  right.line(tr("Click"), tr("Select"));
  right.line(tr("Double-click"), tr("Zoom to the bar"));

  auto* content = new QWidget;
  content->setLayout(row);
  auto* scroll = new QScrollArea;
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setWidgetResizable(true);
  scroll->setWidget(content);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(scroll, 1);
  layout->addWidget(buttons);
  const QSize wish = content->sizeHint() + QSize(48, 72);
  resize(wish.boundedTo(QSize(1100, 760)));
}

}  // namespace lockstep::ui
