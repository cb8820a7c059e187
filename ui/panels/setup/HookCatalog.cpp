#include "ui/panels/setup/HookCatalog.h"

#include <memory>
#include <utility>

#include "engine/plugin/PluginFolders.h"
#include "engine/plugin/ResolveHooks.h"
#include "ui/panels/setup/SetupDraft.h"

namespace lockstep::ui {
namespace {

HookAnswer answerTo(const HookQuestion& question, const plugin::ScanOptions& options) {
  HookAnswer answer;
  answer.libraries = plugin::scanFolders(plugin::pluginFolders(question.file), options);
  answer.swept = experiment::expandText(question.toml, question.name, question.folder);
  // A sweep may vary the hook or its parameters: the hooks of each run are checked. The form shows
  // those of the first.
  for (experiment::SweptRun& run : answer.swept.runs) {
    auto hooks = plugin::resolveHooks(run.parsed, question.file, options);
    if (&run == &answer.swept.runs.front()) {
      answer.chosen = std::move(hooks.infos);
    }
  }
  answer.swept.gather();
  return answer;
}

}  // namespace

HookCatalog::HookCatalog(const QString& hookscan, QObject* parent)
    : QObject(parent), hookscan_(hookscan) {}

// One at a time, each a scan of all libraries: of the questions that wait only the latest counts.
// The answer is a change of the draft (its mistakes): were the same asked again at each change,
// that would never end.
void HookCatalog::ask(HookQuestion question) {
  if (question == asked_) {
    return;
  }
  asked_ = question;
  next_ = std::move(question);
  if (!job_.busy()) {
    askNext();
  }
}

void HookCatalog::ask(const SetupDraft& draft) {
  ask(HookQuestion{draft.text().text(), draft.title().toStdString(), draft.folder().toStdString(),
                   draft.path().toStdString()});
}

void HookCatalog::askNext() {
  plugin::ScanOptions options;
  options.hookscan = hookscan_.toStdString();
  job_.start([question = *std::exchange(next_, std::nullopt),
              options] { return std::make_shared<HookAnswer>(answerTo(question, options)); },
             [this](const std::shared_ptr<HookAnswer>& answer) {
               // An answer that is out of date is dropped: another question was asked meanwhile.
               if (next_) {
                 askNext();
                 return;
               }
               answer_ = std::move(*answer);
               emit answered();
             });
}

QStringList HookCatalog::hookNames() const {
  QStringList names{QStringLiteral("allreduce"), QStringLiteral("noop")};
  QStringList found;
  for (const plugin::FoundLibrary& library : answer_.libraries) {
    for (const plugin::HookInfo& hook : library.info.hooks) {
      const QString id = QString::fromStdString(hook.id);
      if (!names.contains(id) && !found.contains(id)) {
        found << id;
      }
    }
  }
  found.sort();
  return names + found;
}

const plugin::HookInfo* HookCatalog::find(const std::string& id) const {
  for (const plugin::HookInfo& hook : answer_.chosen) {
    if (hook.id == id) {
      return &hook;  // of the library that the experiment names
    }
  }
  return plugin::findHook(answer_.libraries, id).hook;
}

}  // namespace lockstep::ui
