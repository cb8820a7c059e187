#include "ui/shell/Preferences.h"

#include <QApplication>
#include <QProcess>

#include "ui/shell/Appearance.h"
#include "ui/shell/Commands.h"
#include "ui/shell/KeyBindings.h"
#include "ui/shell/MessageBar.h"
#include "ui/shell/Settings.h"

namespace lockstep::ui {
namespace {

void check(const QActionGroup& choices, const QVariant& chosen) {
  for (QAction* action : choices.actions()) {
    action->setChecked(action->data() == chosen);
  }
}

}  // namespace

Preferences::Preferences(QWidget& window, const Commands& commands, KeyBindings& keys,
                         Appearance& appearance, Settings& settings, MessageBar& messages)
    : QObject(&window), window_(window), keys_(keys), settings_(settings), messages_(messages) {
  check(*commands.themes, static_cast<int>(appearance.choice()));
  connect(commands.themes, &QActionGroup::triggered, this,
          [this, &appearance](const QAction* action) {
            const auto choice = static_cast<ThemeChoice>(action->data().toInt());
            appearance.setChoice(choice);
            settings_.setTheme(choice);
          });
  check(*commands.scales, settings.scale());
  connect(commands.scales, &QActionGroup::triggered, this,
          [this](const QAction* action) { setScale(action->data().toInt()); });
  commands.restoreSession->setChecked(settings.restoresSession());
  connect(commands.restoreSession, &QAction::toggled, this,
          [this](bool on) { settings_.setRestoresSession(on); });
  connect(commands.changeKeys, &QAction::triggered, this, &Preferences::changeKeys);
}

void Preferences::setScale(int percent) {
  settings_.setScale(percent);
  messages_.show(
      QStringLiteral("scale"), MessageBar::Kind::kInfo,
      tr("Everything is drawn at %1 % from the next start on; runs go on meanwhile.").arg(percent),
      {{tr("Start again now"), [this] { startAgain(); }}});
}

void Preferences::startAgain() {
  if (!window_.close()) {
    return;  // unsaved changes
  }
  QProcess next;
  auto environment = QProcessEnvironment::systemEnvironment();
  // The studio set it for itself at the start, from the scale of then.
  environment.remove(QStringLiteral("QT_SCALE_FACTOR"));
  next.setProcessEnvironment(environment);
  next.setProgram(QApplication::applicationFilePath());
  // With what is open now, whatever it was called with.
  QStringList arguments = QApplication::arguments().mid(1);
  arguments.removeAll(QStringLiteral("--restore"));
  next.setArguments(arguments << QStringLiteral("--restore"));
  next.startDetached();
}

void Preferences::changeKeys() {
  if (keyEditor_ == nullptr) {
    keyEditor_ = new KeyEditor(keys_, &window_);
  }
  keyEditor_->show();
  keyEditor_->raise();
  keyEditor_->activateWindow();
}

}  // namespace lockstep::ui
