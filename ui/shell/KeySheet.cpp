#include "ui/shell/KeySheet.h"

#include <QDialogButtonBox>
#include <QGridLayout>
#include <optional>
#include <utility>

#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"

namespace lockstep::ui {
namespace {

class Sheet {
 public:
  explicit Sheet(QGridLayout* grid) : grid_(grid) {}

  void title(const QString& text) {
    if (row_ > 0) {
      grid_->setRowMinimumHeight(row_++, 8);
    }
    grid_->addWidget(bold(text), row_++, 0, 1, 2);
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

/// A group as it is written down.
struct Block {
  QString title;
  std::vector<std::pair<QString, QString>> lines;  // keys, what they do
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
  std::vector<Block> blocks;
  for (const Group& group : groups) {
    Block block{group.title, {}};
    for (const QAction* action : group.actions) {
      if (!action->shortcuts().isEmpty()) {
        block.lines.push_back({keysOf(action), action->text().remove('&').remove(QStringLiteral("…"))});
      }
    }
    if (!block.lines.empty()) {
      blocks.push_back(std::move(block));
    }
  }
  blocks.push_back({tr("Mouse in the timeline"),
                    {{tr("Wheel"), tr("Zoom at the pointer")},
                     {tr("Shift + wheel"), tr("Move in time")},
                     {tr("Alt + wheel"), tr("Height of the lanes")},
                     {tr("Drag with the right or middle button"), tr("Move in time")},
                     {tr("Drag over empty space"), tr("Measure")},
                     {tr("Ctrl + drag"), tr("Filter to a range of time")},
                     {tr("Click"), tr("Select")},
                     {tr("Double-click"), tr("Zoom to the bar")},
                     {tr("Right-click"), tr("What can be done there")},
                     {tr("Double-click a note"), tr("Edit it")},
                     {tr("Drag in the overview"), tr("Move or stretch what is shown")}}});
  // Three columns of about the same height. A group stands whole in one, and goes to the next when
  // less than half of it would have room.
  std::size_t lines = 0;
  for (const Block& block : blocks) {
    lines += block.lines.size() + 2;
  }
  auto* row = inRow({}, 36);
  constexpr std::size_t kColumns = 3;
  const std::size_t height = lines / kColumns + 1;
  std::size_t used = height;
  std::size_t column = 0;
  std::optional<Sheet> sheet;
  for (const Block& block : blocks) {
    if (!sheet || (used + block.lines.size() / 2 > height && column < kColumns)) {
      auto* grid = new QGridLayout;
      grid->setHorizontalSpacing(18);
      grid->setVerticalSpacing(5);
      row->addLayout(inColumn({grid, Part::rest()}));
      sheet.emplace(grid);
      used = 0;
      ++column;
    }
    sheet->title(block.title);
    for (const auto& [keys, text] : block.lines) {
      sheet->line(keys, text);
    }
    used += block.lines.size() + 2;
  }

  auto* content = new QWidget;
  content->setLayout(row);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  setLayout(inColumn({{scrolled(content), 1}, buttons}));
  const QSize wish = content->sizeHint() + QSize(48, 72);
  resize(wish.boundedTo(QSize(1240, 800)));
}

}  // namespace lockstep::ui
