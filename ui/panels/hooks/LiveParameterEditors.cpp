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

#include "ui/panels/hooks/LiveParametersPanel.h"

// The widgets that hold the values.
namespace lockstep::ui {
namespace {

using plugin::HookParam;

/// Digits after the point that tell values of a range apart, near its lower end too.
int decimalsOf(const HookParam& param) {
  const double least = param.min > 0 ? param.min : (param.max - param.min) / 1000;
  constexpr int kMost = 8;
  return least > 0 ? std::clamp(static_cast<int>(std::ceil(-std::log10(least))) + 1, 1, kMost) : 3;
}

double stepOf(const HookParam& param) {
  return param.logScale ? param.initial / 2 : (param.max - param.min) / 100;
}

/// Shows no digits that say nothing: 0.05, not 0.0500000.
class RealBox : public QDoubleSpinBox {
 public:
  using QDoubleSpinBox::QDoubleSpinBox;
  [[nodiscard]] QString textFromValue(double value) const override {
    return QLocale::c().toString(value, 'g', 7);
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
    return good && value >= minimum() && value <= maximum() ? QValidator::Acceptable
                                                            : QValidator::Intermediate;
  }
};

}  // namespace

QWidget* LiveParametersPanel::makeEditor(std::size_t index) {
  const LiveParameter& parameter = controls_[index].parameter;
  const HookParam& param = parameter.param;
  const QString unit =
      param.unit.empty() ? QString() : QLatin1Char(' ') + QString::fromStdString(param.unit);
  const auto* number = std::get_if<double>(&parameter.value);
  const auto* text = std::get_if<std::string>(&parameter.value);
  switch (param.type) {
    case HookParam::Type::kBool: {
      auto* box = new QCheckBox;
      box->setChecked(number != nullptr && *number != 0);
      connect(box, &QCheckBox::clicked, this,
              [this, index](bool on) { change(index, on ? 1.0 : 0.0); });
      return box;
    }
    case HookParam::Type::kInteger: {
      auto* box = new QSpinBox;
      constexpr double kLeast = std::numeric_limits<int>::min();
      constexpr double kMost = std::numeric_limits<int>::max();
      box->setRange(static_cast<int>(std::max(param.min, kLeast)),
                    static_cast<int>(std::min(param.max, kMost)));
      box->setSuffix(unit);
      box->setValue(static_cast<int>(number == nullptr ? param.initial : *number));
      connect(box, &QSpinBox::editingFinished, this,
              [this, index, box] { change(index, static_cast<double>(box->value())); });
      return box;
    }
    case HookParam::Type::kReal: {
      auto* box = new RealBox;
      box->setDecimals(decimalsOf(param));
      box->setRange(param.min, param.max);
      box->setSingleStep(stepOf(param));
      box->setSuffix(unit);
      box->setValue(number == nullptr ? param.initial : *number);
      connect(box, &QDoubleSpinBox::editingFinished, this,
              [this, index, box] { change(index, box->value()); });
      return box;
    }
    case HookParam::Type::kChoice: {
      auto* box = new QComboBox;
      for (const std::string& choice : param.choices) {
        box->addItem(QString::fromStdString(choice));
      }
      box->setCurrentText(QString::fromStdString(text == nullptr ? param.initialText : *text));
      connect(box, &QComboBox::textActivated, this,
              [this, index](const QString& chosen) { change(index, chosen.toStdString()); });
      return box;
    }
    case HookParam::Type::kText:
      break;
  }
  auto* line = new QLineEdit(QString::fromStdString(text == nullptr ? param.initialText : *text));
  connect(line, &QLineEdit::editingFinished, this,
          [this, index, line] { change(index, line->text().toStdString()); });
  return line;
}

/// Shows what the ranks use.
void LiveParametersPanel::putBack(Control& control) {
  const QSignalBlocker quiet(control.editor);
  if (auto* real = qobject_cast<QDoubleSpinBox*>(control.editor)) {
    real->setValue(control.held.toDouble());
  } else if (auto* integer = qobject_cast<QSpinBox*>(control.editor)) {
    integer->setValue(static_cast<int>(control.held.toDouble()));
  } else if (auto* box = qobject_cast<QComboBox*>(control.editor)) {
    box->setCurrentText(control.held);
  } else if (auto* check = qobject_cast<QCheckBox*>(control.editor)) {
    check->setChecked(control.held == QLatin1String("on"));
  } else if (auto* line = qobject_cast<QLineEdit*>(control.editor)) {
    line->setText(control.held);
  }
}

QString LiveParametersPanel::shownIn(const Control& control) {
  const HookParam& param = control.parameter.param;
  if (const auto* real = qobject_cast<QDoubleSpinBox*>(control.editor)) {
    return textOf(param, real->value());
  }
  if (const auto* integer = qobject_cast<QSpinBox*>(control.editor)) {
    return textOf(param, static_cast<double>(integer->value()));
  }
  if (const auto* box = qobject_cast<QComboBox*>(control.editor)) {
    return box->currentText();
  }
  if (const auto* check = qobject_cast<QCheckBox*>(control.editor)) {
    return textOf(param, check->isChecked() ? 1.0 : 0.0);
  }
  const auto* line = qobject_cast<QLineEdit*>(control.editor);
  return line == nullptr ? QString() : line->text();
}

}  // namespace lockstep::ui
