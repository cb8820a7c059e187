#include "ui/panels/setup/FieldEditor.h"

#include <QCheckBox>
#include <QComboBox>
#include <QCompleter>
#include <QFileDialog>
#include <QGridLayout>
#include <QKeyEvent>
#include <QSignalBlocker>
#include <QStyle>
#include <QWheelEvent>
#include <algorithm>

#include "engine/experiment/FieldText.h"
#include "ui/model/StartingLarge.h"
#include "ui/panels/CurrentPalette.h"
#include "ui/panels/Labels.h"
#include "ui/panels/setup/SetupDraft.h"

namespace lockstep::ui {
namespace {

using experiment::FieldType;

constexpr int kLabelCharacters = 16;
constexpr int kUnitCharacters = 10;

QString text(const std::string& utf8) {
  return QString::fromStdString(utf8);
}

/// A combo box in a form that scrolls must not change by the wheel that scrolls it.
class StillComboBox : public QComboBox {
 public:
  using QComboBox::QComboBox;

 protected:
  void wheelEvent(QWheelEvent* event) override;
};

void StillComboBox::wheelEvent(QWheelEvent* event) {
  event->ignore();
}

}  // namespace

bool holdsWords(const std::string& all, const QString& needle) {
  const QStringList words = needle.split(' ', Qt::SkipEmptyParts);
  return std::all_of(words.begin(), words.end(), [&](const QString& word) {
    return text(all).contains(word, Qt::CaseInsensitive);
  });
}

QString rangeText(const experiment::Field& field) {
  QStringList parts;
  const bool bounded = field.min || field.max;
  const bool list = field.type == FieldType::kIntegerList || field.type == FieldType::kRealList ||
                    field.type == FieldType::kTextList;
  if (bounded || list) {
    parts << startingLarge(experiment::allowedValues(field)) +
                 (list ? QObject::tr(", with commas.") : QStringLiteral("."));
  }
  if (!field.initial.empty()) {
    QString initial = text(experiment::typedText(field, field.initial));
    if (field.type == FieldType::kBool) {
      initial = field.initial == "true" ? QObject::tr("on") : QObject::tr("off");
    }
    if (!initial.isEmpty()) {
      parts << QObject::tr("Default: %1%2.")
                   .arg(initial, field.unit.empty() ? QString() : ' ' + text(field.unit));
    }
  }
  return parts.join(' ');
}

FieldEditor::FieldEditor(experiment::Field field, QWidget* parent)
    : QWidget(parent), field_(std::move(field)) {
  setObjectName("field:" + text(field_.key));
  const QString label = text(field_.label);
  auto* name = wrapped(label);
  name->setFixedWidth(fontMetrics().averageCharWidth() * kLabelCharacters);
  makeEditor();

  QFont small = font();
  small.setPointSizeF(small.pointSizeF() * 0.88);
  defaultMark_ = new QLabel(tr("default"));
  defaultMark_->setFont(small);
  defaultMark_->setForegroundRole(QPalette::PlaceholderText);
  defaultMark_->setToolTip(tr("Not written in the file: the default stands."));
  reset_ =
      toolButton(tr("Reset"),
                 field_.initial.empty() ? tr("Leaves %1 out of the file").arg(text(field_.key))
                                        : tr("Back to the default, %1").arg(text(field_.initial)),
                 "");
  reset_->setAutoRaise(true);
  reset_->setFont(small);
  reset_->setAccessibleName(tr("Reset %1").arg(label));
  connect(reset_, &QToolButton::clicked, this, &FieldEditor::resetAsked);

  const QString range = rangeText(field_);
  const QString explained = (text(field_.help) + ' ' + range).trimmed();
  help_ = muted(explained, "help");
  help_->setFont(small);
  mistake_ = wrapped({}, "mistake");
  mistake_->hide();

  unit_ = new QLabel(text(field_.unit));
  auto* layout = new QGridLayout(this);
  layout->setContentsMargins(0, 2, 0, 4);
  layout->setHorizontalSpacing(6);
  layout->setVerticalSpacing(1);
  layout->setColumnStretch(1, 1);
  QWidget* editor = check_ != nullptr   ? static_cast<QWidget*>(check_)
                    : combo_ != nullptr ? static_cast<QWidget*>(combo_)
                                        : line_;
  layout->addWidget(name, 0, 0, Qt::AlignVCenter);
  layout->addWidget(editor, 0, 1, 1, field_.unit.empty() ? 2 : 1);
  layout->addWidget(unit_, 0, 2);
  marks_ = new QWidget;  // as large whichever of the two is shown
  auto* marks = new QGridLayout(marks_);
  marks->setContentsMargins(0, 0, 0, 0);
  marks->addWidget(defaultMark_, 0, 0, Qt::AlignRight | Qt::AlignTop);
  marks->addWidget(reset_, 0, 0, Qt::AlignRight | Qt::AlignTop);
  marks_->setFixedSize(reset_->sizeHint().expandedTo(defaultMark_->sizeHint()));
  // Under the name, too: under the editor alone it would be a column of a word or two.
  layout->addWidget(help_, 1, 0, 1, 2);
  layout->addWidget(marks_, 1, 2, Qt::AlignRight | Qt::AlignTop);
  layout->addWidget(mistake_, 2, 0, 1, 3);

  QString tip = QStringLiteral("<b>%1</b><br>%2")
                    .arg(text(field_.key).toHtmlEscaped(), text(field_.help).toHtmlEscaped());
  if (!range.isEmpty()) {
    tip += QStringLiteral("<br>") + range.toHtmlEscaped();
  }
  for (QWidget* part : {static_cast<QWidget*>(name), editor}) {
    part->setToolTip(tip);
  }
  name->setBuddy(editor);
  editor->setAccessibleName(label);
  editor->setAccessibleDescription(explained);
  setFocusProxy(editor);
  editor->installEventFilter(this);
  show(std::nullopt);
}

void FieldEditor::makeEditor() {
  if (field_.type == FieldType::kBool) {
    check_ = new QCheckBox;
    connect(check_, &QCheckBox::clicked, this, [this](bool on) {
      emit edited(on ? QStringLiteral("true") : QStringLiteral("false"));
    });
    return;
  }
  if (field_.type == FieldType::kChoice) {
    combo_ = new StillComboBox;
    combo_->setFocusPolicy(Qt::StrongFocus);
    combo_->setMinimumContentsLength(6);
    combo_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    for (const std::string& choice : field_.choices) {
      combo_->addItem(text(choice));
    }
    connect(combo_, &QComboBox::textActivated, this, &FieldEditor::typed);
    return;
  }
  line_ = new QLineEdit;
  line_->setMinimumWidth(fontMetrics().averageCharWidth() * 7);
  connect(line_, &QLineEdit::textEdited, this, &FieldEditor::typed);
  if (field_.type == FieldType::kPath) {
    auto* choose = line_->addAction(style()->standardIcon(QStyle::SP_DirOpenIcon),
                                    QLineEdit::TrailingPosition);
    choose->setText(tr("Choose…"));
    choose->setToolTip(tr("Choose…"));
    connect(choose, &QAction::triggered, this, &FieldEditor::browse);
  }
}

bool FieldEditor::eventFilter(QObject* watched, QEvent* event) {
  // A key reaches a line twice. First Qt asks whether the line wants it (ShortcutOverride): saying
  // yes keeps it from the window, whose Undo is that of the view. Then it comes as a key, and goes
  // to the form instead of the line's own undo.
  if (event->type() == QEvent::ShortcutOverride || event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    const bool redo = key->matches(QKeySequence::Redo);
    if (redo || key->matches(QKeySequence::Undo)) {
      event->accept();
      if (event->type() == QEvent::KeyPress) {
        emit undoAsked(redo);
      }
      return true;
    }
  }
  return QWidget::eventFilter(watched, event);
}

void FieldEditor::browse() {
  const bool folder = field_.key.ends_with("folder");
  const QString path =
      folder ? QFileDialog::getExistingDirectory(this, text(field_.label), line_->text())
             : QFileDialog::getOpenFileName(this, text(field_.label), line_->text());
  if (!path.isEmpty()) {
    line_->setText(path);
    typed(path);
  }
}

// An emptied line takes a number out of the file (tomlText gives nothing); of a text it is "".
void FieldEditor::typed(const QString& now) {
  emit edited(text(experiment::tomlText(field_, now.toStdString())));
}

void FieldEditor::showText(const QString& shown, bool isDefault) {
  if (check_ != nullptr) {
    const QSignalBlocker still(check_);
    check_->setChecked(shown == QStringLiteral("true"));
    check_->setText(check_->isChecked() ? tr("on") : tr("off"));
  } else if (combo_ != nullptr) {
    const QSignalBlocker still(combo_);
    while (combo_->count() > static_cast<int>(field_.choices.size())) {
      combo_->removeItem(combo_->count() - 1);  // a wrong value of before
    }
    int index = combo_->findText(shown);
    if (index < 0) {
      combo_->addItem(shown);  // what the file says, wrong as it is
      index = combo_->count() - 1;
    }
    combo_->setCurrentIndex(index);
  } else {
    // Emptying a line leaves its key out, which brings the default back: not into the line in which
    // somebody is about to type something else.
    const bool beingEmptied = line_->hasFocus() && line_->text().trimmed().isEmpty() && isDefault;
    if (!beingEmptied && line_->text() != shown) {
      const int cursor = line_->cursorPosition();
      line_->setText(shown);
      line_->setCursorPosition(line_->hasFocus() ? std::min(cursor, static_cast<int>(shown.size()))
                                                 : 0);
    }
    QFont font = line_->font();
    font.setItalic(isDefault);
    line_->setFont(font);
  }
}

void FieldEditor::show(const std::optional<std::string>& written) {
  // Of a key that is not in the file its default is shown, in italics where there is a line; of one
  // without a default nothing.
  const std::string toml = written.value_or(field_.initial);
  // What is typed comes back through the draft at each key. "1.50" must not become "1.5" meanwhile.
  const bool sameAsTyped = line_ != nullptr && line_->hasFocus() && written &&
                           experiment::tomlText(field_, line_->text().toStdString()) == *written;
  const bool isDefault =
      !written || (!field_.initial.empty() && experiment::sameValue(field_, toml, field_.initial));
  showText(sameAsTyped ? line_->text() : text(experiment::typedText(field_, toml)), isDefault);
  if (line_ != nullptr) {
    line_->setPlaceholderText(text(experiment::typedText(field_, field_.initial)));
  }
  defaultMark_->setText(field_.initial.empty() ? tr("not set") : tr("default"));
  defaultMark_->setVisible(isDefault);
  reset_->setVisible(!isDefault);
}

void FieldEditor::setMistake(const QString& mistake) {
  if (mistake_->text().mid(2) == mistake && mistake_->isHidden() == mistake.isEmpty()) {
    return;
  }
  mistake_->setText(mistake.isEmpty() ? QString() : QStringLiteral("✕ ") + mistake);
  mistake_->setHidden(mistake.isEmpty());
  setInk(mistake_, currentPalette().error);
}

QString FieldEditor::mistake() const {
  return mistake_->isHidden() ? QString() : mistake_->text().mid(2);
}

bool FieldEditor::matches(const QString& needle) const {
  return holdsWords(field_.key + ' ' + field_.label + ' ' + field_.help, needle);
}

void FieldEditor::offer(const QStringList& texts) {
  if (line_ == nullptr) {
    return;
  }
  auto* completer = new QCompleter(texts, line_);
  completer->setCaseSensitivity(Qt::CaseInsensitive);
  completer->setFilterMode(Qt::MatchContains);
  connect(completer, qOverload<const QString&>(&QCompleter::activated), this, &FieldEditor::typed);
  line_->setCompleter(completer);
}

void FieldEditor::edits(SetupDraft& draft, const std::function<void(const std::string&)>& set) {
  connect(this, &FieldEditor::edited, &draft,
          [set](const QString& toml) { set(toml.toStdString()); });
  connect(this, &FieldEditor::resetAsked, &draft, [set] { set(""); });
  connect(this, &FieldEditor::undoAsked, &draft, &SetupDraft::undoOrRedo);
}

void FieldEditor::edits(SetupDraft& draft) {
  edits(draft, [this, &draft](const std::string& toml) { draft.setKey(field_, toml); });
}

void FieldEditor::showFrom(const SetupDraft& draft) {
  show(draft.text().value(field_.key));
  setMistake(draft.mistakeOf(field_.key));
}

bool FieldEditor::wanted(const SetupDraft& draft, const QString& needle, bool advanced) const {
  return !needle.isEmpty() ? matches(needle)
                           : advanced || !field_.advanced ||
                                 draft.text().value(field_.key).has_value() || !mistake().isEmpty();
}

void FieldEditor::setBrief() {
  help_->hide();
  marks_->hide();
  // One below the other, all editors are as wide, whatever the unit.
  auto* grid = static_cast<QGridLayout*>(layout());
  grid->removeWidget(focusProxy());
  grid->addWidget(focusProxy(), 0, 1);
  unit_->setFixedWidth(fontMetrics().averageCharWidth() * kUnitCharacters);
}

void FieldEditor::focusEditor() {
  setFocus(Qt::OtherFocusReason);
}

}  // namespace lockstep::ui
