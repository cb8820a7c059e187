#include "ui/panels/hooks/LiveParametersPanel.h"

#include <utility>

#include "engine/launch/ControlSocket.h"
#include "ui/model/Follow.h"
#include "ui/model/RunModel.h"
#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"
#include "ui/panels/hooks/HookChange.h"

namespace lockstep::ui {
namespace {

using plugin::HookParam;
using plugin::HookValue;

base::Status sendChange(const std::filesystem::path& run, const experiment::SettingChange& change) {
  launch::ControlCommand command{launch::ControlCommand::Kind::kSet};
  command.change = change;
  const auto answer = launch::sendControl(run, command);
  return answer.ok() ? base::Status() : base::Status(answer.error());
}

}  // namespace

LiveParametersPanel::LiveParametersPanel(QWidget* parent)
    : LiveParametersPanel(sendChange, liveParametersOf, parent) {}

LiveParametersPanel::LiveParametersPanel(Sender sender, Finder finder, QWidget* parent)
    : QWidget(parent), sender_(std::move(sender)), finder_(std::move(finder)) {
  setObjectName("liveParameters");
  setAccessibleName(tr("Live parameters of the hook"));
  row_ = new QHBoxLayout(this);
  row_->setContentsMargins(12, 2, 10, 2);
  row_->setSpacing(8);
  hide();
}

void LiveParametersPanel::setRun(RunModel* model) {
  follow(model_, model, this);
  clear();
  if (model_ != nullptr) {
    connect(model_, &RunModel::infoChanged, this, &LiveParametersPanel::consider);
    connect(model_, &RunModel::changed, this, &LiveParametersPanel::readChanges);
    consider();
  }
}

void LiveParametersPanel::clear() {
  ticket_ += 1;
  finding_.drop();
  asked_ = false;
  changesSeen_.clear();
  controls_.clear();
  while (QLayoutItem* item = row_->takeAt(0)) {
    delete item->widget();
    delete item;
  }
  hide();
}

void LiveParametersPanel::consider() {
  const bool live = model_ != nullptr && model_->isLive();
  if (!live && asked_) {
    clear();
    return;
  }
  if (!live || asked_ || model_->info().experimentToml.empty()) {
    return;
  }
  asked_ = true;
  finding_.start([find = finder_, info = model_->info()] { return find(info); },
                 [this](auto found) {
                   // Without its plugin at hand a run has no controls here; it trains all the same.
                   if (found.ok()) {
                     take(std::move(found).value());
                   }
                 });
}

void LiveParametersPanel::take(std::vector<LiveParameter> parameters) {
  if (parameters.empty()) {
    return;
  }
  row_->addWidget(new QLabel(tr("While it trains:")));
  controls_.resize(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Control& control = controls_[i];
    control.parameter = std::move(parameters[i]);
    const HookParam& param = control.parameter.param;
    control.held = textOf(param, control.parameter.value);
    control.editor =
        makeEditor(control.parameter, [this, i](const HookValue& value) { change(i, value); });
    const QString key = QString::fromStdString(control.parameter.key);
    const QString label = QString::fromStdString(param.label);
    QWidget* editor = named(
        control.editor.widget, control.parameter.key.c_str(), label,
        QString::fromStdString(param.help) + QStringLiteral("\n%1, %2").arg(key, rangeOf(param)));
    control.state = new QLabel;
    control.state->setObjectName(key + ".state");
    control.state->setForegroundRole(QPalette::PlaceholderText);
    auto* title = new QLabel(label);
    title->setBuddy(editor);
    add(*row_, {title, editor, control.state, Part::gap(10)});
    showState(control);
  }
  row_->addStretch(1);
  show();
  readChanges();
}

// Note [From a box to the ranks]
//
// A parameter has up to three values at a time: what its box shows, what was asked for (`wanted`;
// empty: nothing) and what the ranks use (`held`).
//
//                                        box     wanted   held
//   the user enters 0.01                 0.01    0.01     0.05   "asked for 0.01…"
//   it is refused                        0.05             0.05   failed(sentence)
//   or: rank 0 says, from step 808 on    0.01             0.01   "0.01 from step 808 on"
//
// The control socket answers that a change was taken, not that it holds: the ranks agree on a step
// first. That stands in the run file (readChanges), with the changes that somebody else asked for
// by `lockstep set`. Those are shown too, but never written over what is being typed.
void LiveParametersPanel::change(std::size_t index, const HookValue& value) {
  Control& control = controls_[index];
  const QString text = textOf(control.parameter.param, value);
  if (text == (control.wanted.isEmpty() ? control.held : control.wanted) || model_ == nullptr) {
    return;  // the cursor only left the box
  }
  if (const auto wrong = plugin::whatIsWrong(control.parameter.param, value)) {
    emit failed(QString::fromStdString(control.parameter.key + " " + *wrong));
    control.editor.putBack(control.held);
    return;
  }
  control.wanted = text;
  showState(control);
  const experiment::SettingChange wanted{control.parameter.key,
                                         jsonOf(control.parameter.param, value)};
  inBackground(
      this, [send = sender_, run = model_->path(), wanted] { return send(run, wanted); },
      // `index` is of the controls of that run; by now another run's may stand here.
      [this, index, ticket = ticket_](const base::Status& status) {
        if (ticket == ticket_) {
          answered(index, status);
        }
      });
}

void LiveParametersPanel::answered(std::size_t index, const base::Status& status) {
  if (!status.ok()) {
    Control& control = controls_[index];
    control.wanted.clear();
    control.editor.putBack(control.held);
    showState(control);
    emit failed(QString::fromStdString(status.error().message()));
  }
}

// The ranks agree on the step from which a change holds, and rank 0 says so.
void LiveParametersPanel::readChanges() {
  if (model_ == nullptr || controls_.empty()) {
    return;
  }
  for (const HookChange& change : hookChangesOf(model_->ranks())) {
    if (!changesSeen_.emplace(change.step, change.key).second) {
      continue;
    }
    const std::string key = "hook." + change.key.toStdString();
    for (Control& control : controls_) {
      if (control.parameter.key == key) {
        const QString shown = control.editor.shown();
        const bool untouched = shown == control.held || shown == control.wanted;
        bool isNumber = false;
        const double number = change.value.toDouble(&isNumber);
        control.held = isNumber ? textOf(control.parameter.param, number) : change.value;
        if (control.wanted == control.held) {
          control.wanted.clear();
        }
        if (control.wanted.isEmpty() && untouched) {
          control.editor.putBack(control.held);  // what somebody types stays
        }
        showState(control, tr("from step %1 on").arg(change.step));
      }
    }
  }
}

void LiveParametersPanel::showState(Control& control, const QString& since) {
  control.state->setText(!control.wanted.isEmpty() ? tr("asked for %1…").arg(control.wanted)
                         : !since.isEmpty()        ? tr("%1 %2").arg(control.held, since)
                                                   : tr("%1 so far").arg(control.held));
}

}  // namespace lockstep::ui
