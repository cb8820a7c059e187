#include <QDialogButtonBox>
#include <QHeaderView>
#include <QKeySequenceEdit>
#include <QPushButton>
#include <QTreeWidget>

#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"
#include "ui/shell/KeyBindings.h"

namespace lockstep::ui {
namespace {

QString keysText(const QList<QKeySequence>& keys) {
  return QKeySequence::listToString(keys, QKeySequence::NativeText);
}

}  // namespace

KeyEditor::KeyEditor(KeyBindings& bindings, QWidget* parent)
    : QDialog(parent),
      bindings_(bindings),
      tree_(named(new QTreeWidget, "keyTree")),
      edit_(named(new QKeySequenceEdit, "keyEdit")),
      said_(wrapped({}, "keySaid")),
      assign_(new QPushButton(tr("Assign"))),
      clear_(new QPushButton(tr("No key"))),
      reset_(new QPushButton(tr("Built-in key"))) {
  setObjectName("keyEditor");
  setWindowTitle(tr("Change keys"));
  auto* filter = filterLine("keyFilter", tr("Filter by command or key"), {});
  tree_->setHeaderLabels({tr("Command"), tr("Keys")});
  tree_->setUniformRowHeights(true);
  tree_->header()->setSectionResizeMode(0, QHeaderView::Stretch);
  tree_->header()->setStretchLastSection(false);
  tree_->header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
  for (const KeySheet::Group& group : bindings_.groups()) {
    auto* top = new QTreeWidgetItem(tree_, {group.title});
    top->setFlags(Qt::ItemIsEnabled);
    for (QAction* action : group.actions) {
      auto* item = new QTreeWidgetItem(top, {plainText(action)});
      item->setData(0, Qt::UserRole, QVariant::fromValue(static_cast<QObject*>(action)));
      showKeysOf(item);
    }
  }
  tree_->expandAll();
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
  setLayout(inColumn({filter,
                      {tree_, 1},
                      inRow({new QLabel(tr("New key:")), {edit_, 1}, assign_, clear_, reset_}),
                      said_,
                      buttons}));
  connect(filter, &QLineEdit::textChanged, this, &KeyEditor::filter);
  connect(tree_, &QTreeWidget::currentItemChanged, this, &KeyEditor::chosen);
  connect(assign_, &QPushButton::clicked, this, &KeyEditor::assign);
  connect(clear_, &QPushButton::clicked, this, &KeyEditor::clearKeys);
  connect(reset_, &QPushButton::clicked, this, &KeyEditor::resetKeys);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  for (QPushButton* button : {assign_, clear_, reset_}) {
    button->setAutoDefault(false);
  }
  chosen();
  resizeWithinScreen(*this, {560, 620});
}

QAction* KeyEditor::current() const {
  const QTreeWidgetItem* item = tree_->currentItem();
  return item == nullptr ? nullptr
                         : qobject_cast<QAction*>(item->data(0, Qt::UserRole).value<QObject*>());
}

void KeyEditor::showKeysOf(QTreeWidgetItem* item) {
  const auto* action = qobject_cast<QAction*>(item->data(0, Qt::UserRole).value<QObject*>());
  item->setText(1, keysText(action->shortcuts()));
  QFont font = item->font(1);
  font.setBold(!bindings_.isBuiltIn(action));
  item->setFont(1, font);
}

void KeyEditor::filter(const QString& text) {
  for (int i = 0; i < tree_->topLevelItemCount(); ++i) {
    QTreeWidgetItem* top = tree_->topLevelItem(i);
    bool any = false;
    for (int k = 0; k < top->childCount(); ++k) {
      QTreeWidgetItem* item = top->child(k);
      const bool hit = item->text(0).contains(text, Qt::CaseInsensitive) ||
                       item->text(1).contains(text, Qt::CaseInsensitive);
      item->setHidden(!hit);
      any = any || hit;
    }
    top->setHidden(!any);
  }
}

void KeyEditor::chosen() {
  const QAction* action = current();
  for (QWidget* widget : std::initializer_list<QWidget*>{edit_, assign_, clear_, reset_}) {
    widget->setEnabled(action != nullptr);
  }
  edit_->clear();
  said_->setText(action == nullptr ? tr("Choose a command.")
                                   : tr("Built-in: %1. Click into the field and press the new key.")
                                         .arg(bindings_.builtIn(action).isEmpty()
                                                  ? tr("no key")
                                                  : keysText(bindings_.builtIn(action))));
}

void KeyEditor::assign() {
  QAction* action = current();
  if (action == nullptr || edit_->keySequence().isEmpty()) {
    said_->setText(tr("Click into the field and press the new key first."));
    return;
  }
  if (const QAction* holder = bindings_.holder(edit_->keySequence(), action)) {
    said_->setText(tr("%1 belongs to \"%2\": give that one another key first.")
                       .arg(edit_->keySequence().toString(QKeySequence::NativeText),
                            plainText(holder)));
    return;
  }
  bindings_.set(action, {edit_->keySequence()});
  showKeysOf(tree_->currentItem());
  chosen();
}

void KeyEditor::clearKeys() {
  bindings_.set(current(), {});
  showKeysOf(tree_->currentItem());
  chosen();
}

void KeyEditor::resetKeys() {
  QAction* action = current();
  // A built-in key may have been given to something else since: nothing is taken from that
  // silently.
  for (const QKeySequence& key : bindings_.builtIn(action)) {
    if (const QAction* holder = bindings_.holder(key, action)) {
      said_->setText(tr("%1 belongs to \"%2\" now: give that one another key first.")
                         .arg(key.toString(QKeySequence::NativeText), plainText(holder)));
      return;
    }
  }
  bindings_.reset(action);
  showKeysOf(tree_->currentItem());
  chosen();
}

}  // namespace lockstep::ui
