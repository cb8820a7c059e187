#include "ui/shell/PaletteEntries.h"

#include <QCoreApplication>
#include <QDockWidget>
#include <QFileInfo>
#include <QKeySequence>
#include <optional>

#include "ui/shell/Commands.h"
#include "ui/shell/CurrentRun.h"
#include "ui/shell/Docks.h"
#include "ui/shell/KeyBindings.h"
#include "ui/shell/Programs.h"
#include "ui/shell/RunSession.h"

namespace lockstep::ui {
namespace {

QString paletteText(const char* text) {
  return QCoreApplication::translate("PaletteEntries", text);
}

}  // namespace

std::vector<CommandPalette::Entry> paletteEntries(const PaletteSources& from) {
  std::vector<CommandPalette::Entry> entries;
  const auto add = [&](const QString& text, const QString& note, std::function<void()> act,
                       const QString& reason = {}) {
    entries.push_back({text, note, std::move(act), reason});
  };
  for (const KeySheet::Group& group : from.commands.groups()) {
    for (QAction* action : group.actions) {
      add(
          group.title + QStringLiteral(": ") + plainText(action),
          QKeySequence::listToString(action->shortcuts(), QKeySequence::NativeText),
          [action] { action->trigger(); },
          // Listed all the same: what cannot be done now can be found, and its key read.
          action->isEnabled() ? QString() : paletteText("not now"));
    }
  }
  const auto addChoices = [&](const QString& text, const QActionGroup& choices) {
    for (QAction* action : choices.actions()) {
      add(text.arg(plainText(action)), {}, [action] { action->trigger(); });
    }
  };
  addChoices(paletteText("Theme: %1"), *from.commands.themes);
  addChoices(paletteText("Scale: %1"), *from.commands.scales);
  for (const QDockWidget* dock : from.docks.all()) {
    add(paletteText("Panel: %1").arg(dock->windowTitle()), {},
        [&docks = from.docks, panel = dock->widget()] { docks.bring(panel); });
  }
  for (const ExperimentEntry& entry : from.experiments) {
    add(
        paletteText("Run experiment: %1").arg(entry.name), entry.group,
        [run = from.runExperiment, path = entry.path] { run(path); },
        from.programs.building             ? paletteText("lockstep is still being built")
        : from.programs.lockstep.isEmpty() ? paletteText("no lockstep program")
                                           : entry.mistake);
  }
  for (const QString& path : from.recentRuns) {
    if (QFileInfo::exists(path)) {
      add(paletteText("Open run: %1").arg(QFileInfo(path).completeBaseName()), {},
          [&run = from.run, path] { run.open(path); });
    }
  }
  if (RunSession* session = from.run.session(); session != nullptr) {
    const auto addStep = [&](const QString& text, std::optional<std::uint32_t> step) {
      if (step) {
        add(text.arg(*step), {}, [&run = from.run, step = *step] { run.showStep(step); });
      }
    };
    addStep(paletteText("Iteration %1: the slowest"), session->slowestStep());
    addStep(paletteText("Iteration %1: the last"), session->lastStep());
    addStep(paletteText("Iteration %1: the first with rebuilt buckets"),
            session->model()->rebuildStep());
  }
  return entries;
}

}  // namespace lockstep::ui
