#include "ui/shell/LookFor.h"

#include <QAction>
#include <algorithm>
#include <utility>

#include "engine/experiment/Parse.h"
#include "ui/panels/KeyTips.h"
#include "ui/panels/Labels.h"
#include "ui/shell/MessageBar.h"

namespace lockstep::ui {
namespace {

const QString& messageKey() {
  static const QString kKey = QStringLiteral("lookFor");
  return kKey;
}

}  // namespace

LookFor::LookFor(std::vector<ExperimentEntry> experiments, MessageBar& messages, QAction* command,
                 QObject* parent)
    : QObject(parent),
      experiments_(std::move(experiments)),
      messages_(messages),
      command_(command) {
  connect(command_, &QAction::triggered, this, &LookFor::toggle);
  command_->setEnabled(false);
}

void LookFor::setRun(const std::string& toml) {
  if (toml == toml_) {
    return;
  }
  toml_ = toml;
  messages_.dismiss(messageKey());
  text_ = textOf(toml);
  command_->setEnabled(!text_.isEmpty());
  setTip(command_, text_.isEmpty() ? tr("Only a run of an experiment that comes with Lockstep says "
                                        "what to look for")
                                   : tr("What to look for in this run"));
}

QWidget* LookFor::button() const {
  auto* button = named(new QToolButton, "lookForButton");
  button->setDefaultAction(command_);
  button->setAutoRaise(true);
  button->setVisible(command_->isEnabled());
  connect(command_, &QAction::enabledChanged, button, &QWidget::setVisible);
  return button;
}

void LookFor::toggle() {
  if (messages_.shows(messageKey())) {
    messages_.dismiss(messageKey());
  } else if (!text_.isEmpty()) {
    messages_.show(messageKey(), MessageBar::Kind::kInfo, tr("Look for: %1").arg(text_));
  }
}

// A copy with other settings shows the same, and its comments are not in the run file: so it is by
// what an experiment shows that its file is known.
QString LookFor::textOf(const std::string& toml) const {
  if (toml.empty()) {
    return {};
  }
  const auto shows =
      QString::fromStdString(experiment::parseText(toml, "", {}).experiment.shows).simplified();
  const auto at = std::ranges::find_if(experiments_, [&shows](const ExperimentEntry& entry) {
    return !shows.isEmpty() && entry.shows == shows;
  });
  return at == experiments_.end() ? QString() : at->lookFor;
}

}  // namespace lockstep::ui
