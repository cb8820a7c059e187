#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLineEdit>
#include <QLocale>
#include <QSignalBlocker>
#include <QSpinBox>
#include <algorithm>
#include <cmath>
#include <limits>

#include "ui/panels/hooks/LiveParameterEditors.h"

namespace lockstep::ui {
namespace {

using plugin::HookParam;

// Digits after the point, as many as a value may have that the ranks use: a box that rounded it
// would ask for another when the cursor only leaves it.
constexpr int kDecimals = 30;

double stepOf(const HookParam& param) {
  // The arrows of the box. Over several magnitudes no step fits everywhere: one that suits where it
  // begins.
  return param.logScale ? param.initial / 2 : (param.max - param.min) / 100;
}

/// Shows no digits that say nothing: 0.05, not 0.0500000.
class RealBox : public QDoubleSpinBox {
 public:
  using QDoubleSpinBox::QDoubleSpinBox;
  [[nodiscard]] QString textFromValue(double value) const override {
    return QLocale::c().toString(value, 'g', kLiveDigits);
  }
  [[nodiscard]] double valueFromText(const QString& text) const override {
    QString number = text;
    number.remove(suffix());
    return QLocale::c().toDouble(number.trimmed());
  }
  QValidator::State validate(QString& text, int& position) const override {
    QString number = text;
    number.remove(suffix());
    bool good = false;
    const double value = QLocale::c().toDouble(number.trimmed(), &good);
    Q_UNUSED(position);
    // Never refused while it is typed: 0.05 begins with a 0 that may be below the range.
    return good && value >= minimum() && value <= maximum() ? QValidator::Acceptable
                                                            : QValidator::Intermediate;
  }
};

}  // namespace

LiveParameterEditor makeEditor(const LiveParameter& parameter,
                               const std::function<void(const plugin::HookValue&)>& change) {
  const HookParam& param = parameter.param;
  const QString unit =
      param.unit.empty() ? QString() : QLatin1Char(' ') + QString::fromStdString(param.unit);
  const auto* number = std::get_if<double>(&parameter.value);
  const auto* text = std::get_if<std::string>(&parameter.value);
  const QString words = QString::fromStdString(text == nullptr ? param.initialText : *text);
  // Each tells of a change when the user is done with it, not at each key: for the ranks a change
  // is something to agree on.
  switch (param.type) {
    case HookParam::Type::kBool: {
      auto* box = new QCheckBox;
      box->setChecked(number != nullptr && *number != 0);
      QObject::connect(box, &QCheckBox::clicked, box,
                       [change](bool on) { change(on ? 1.0 : 0.0); });
      return {box, [box, param] { return textOf(param, box->isChecked() ? 1.0 : 0.0); },
              [box](const QString& value) { box->setChecked(value == QLatin1String("on")); }};
    }
    case HookParam::Type::kInteger: {
      auto* box = new QSpinBox;
      // The limits of a parameter are doubles, and may lie beyond those of a box.
      constexpr double kLeast = std::numeric_limits<int>::min();
      constexpr double kMost = std::numeric_limits<int>::max();
      box->setRange(static_cast<int>(std::max(param.min, kLeast)),
                    static_cast<int>(std::min(param.max, kMost)));
      box->setSuffix(unit);
      box->setValue(static_cast<int>(number == nullptr ? param.initial : *number));
      QObject::connect(box, &QSpinBox::editingFinished, box,
                       [change, box] { change(static_cast<double>(box->value())); });
      return {box, [box, param] { return textOf(param, static_cast<double>(box->value())); },
              [box](const QString& value) { box->setValue(static_cast<int>(value.toDouble())); }};
    }
    case HookParam::Type::kReal: {
      auto* box = new RealBox;
      box->setDecimals(kDecimals);
      box->setRange(param.min, param.max);
      box->setSingleStep(stepOf(param));
      box->setSuffix(unit);
      box->setValue(number == nullptr ? param.initial : *number);
      // What stands in the box, without the digits that arithmetic leaves behind.
      QObject::connect(box, &QDoubleSpinBox::editingFinished, box,
                       [change, box] { change(box->valueFromText(box->text())); });
      return {box, [box, param] { return textOf(param, box->value()); },
              [box](const QString& value) { box->setValue(value.toDouble()); }};
    }
    case HookParam::Type::kChoice: {
      auto* box = new QComboBox;
      for (const std::string& choice : param.choices) {
        box->addItem(QString::fromStdString(choice));
      }
      box->setCurrentText(words);
      QObject::connect(box, &QComboBox::textActivated, box,
                       [change](const QString& chosen) { change(chosen.toStdString()); });
      return {box, [box] { return box->currentText(); },
              [box](const QString& value) { box->setCurrentText(value); }};
    }
    case HookParam::Type::kText:
      break;
  }
  auto* line = new QLineEdit(words);
  QObject::connect(line, &QLineEdit::editingFinished, line,
                   [change, line] { change(line->text().toStdString()); });
  return {line, [line] { return line->text(); },
          [line](const QString& value) { line->setText(value); }};
}

void LiveParameterEditor::putBack(const QString& held) const {
  const QSignalBlocker quiet(widget);
  put(held);
}

}  // namespace lockstep::ui
