#include "ui/panels/setup/HookCatalog.h"

#include <utility>

#include "engine/plugin/PluginFolders.h"
#include "engine/plugin/ResolveHooks.h"

namespace lockstep::ui {
namespace {

HookAnswer answerTo(const HookQuestion& question, const plugin::ScanOptions& options) {
  HookAnswer answer;
  answer.libraries = plugin::scanFolders(plugin::pluginFolders(question.file), options);
  answer.swept = experiment::expandText(question.toml, question.name, question.folder);
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
    : QObject(parent),
      hookscan_(hookscan),
      worker_(new QObject),
      newest_(std::make_shared<std::atomic<int>>(0)) {
  thread_.setObjectName(QStringLiteral("hook-catalog"));
  worker_->moveToThread(&thread_);
  connect(&thread_, &QThread::finished, worker_, &QObject::deleteLater);
  thread_.start();
}

HookCatalog::~HookCatalog() {
  newest_->store(-1);
  thread_.quit();
  thread_.wait();
}

void HookCatalog::ask(HookQuestion question) {
  const int ticket = ++ticket_;
  newest_->store(ticket);
  plugin::ScanOptions options;
  options.hookscan = hookscan_.toStdString();
  QMetaObject::invokeMethod(
      worker_, [this, ticket, question = std::move(question), options, newest = newest_] {
        if (newest->load() != ticket) {
          return;  // a newer question waits
        }
        auto answer = std::make_shared<HookAnswer>(answerTo(question, options));
        QMetaObject::invokeMethod(this, [this, ticket, answer] {
          if (ticket == ticket_) {
            answeredTicket_ = ticket;
            answer_ = std::move(*answer);
            emit answered();
          }
        });
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
