#pragma once

#include <QObject>
#include <QString>
#include <QThread>
#include <atomic>
#include <memory>
#include <vector>

#include "engine/experiment/Parse.h"
#include "engine/plugin/HookInfo.h"
#include "engine/plugin/PluginScan.h"

namespace lockstep::ui {

/// What is known of plugins for one state of an experiment.
struct HookAnswer {
  std::vector<plugin::FoundLibrary> libraries;  ///< of all plugin folders, refused ones too
  std::vector<experiment::Mistake> mistakes;    ///< of the experiment's hooks
  std::vector<plugin::HookInfo> chosen;         ///< of the experiment's hooks; empty = own
  experiment::Experiment experiment;            ///< with the paths of its own plugins set
};

/// Asks the plugins what hooks they hold, and checks an experiment's hooks, in a thread of its
/// own: each library is described by lockstep-hookscan, never opened here. [ui-thread]
class HookCatalog : public QObject {
  Q_OBJECT

 public:
  /// `hookscan` is the path of lockstep-hookscan; empty = beside the running program.
  explicit HookCatalog(const QString& hookscan, QObject* parent = nullptr);
  ~HookCatalog() override;

  /// Checks the hooks of a parsed experiment; `file` ("" = none) names the folder of its own
  /// plugins. `answered` follows; of several questions only the last is answered for certain.
  void ask(const experiment::ParseOutcome& parsed, const QString& file);
  /// Whether an answer is still to come.
  [[nodiscard]] bool isAsking() const { return answeredTicket_ != ticket_; }
  [[nodiscard]] const HookAnswer& answer() const { return answer_; }
  /// Ids of every hook that can be named, the engine's own first.
  [[nodiscard]] QStringList hookNames() const;
  /// Null for the engine's own and for what no plugin holds.
  [[nodiscard]] const plugin::HookInfo* find(const std::string& id) const;

 signals:
  void answered();

 private:
  QString hookscan_;
  QThread thread_;
  QObject* worker_;  ///< lives in the thread
  std::shared_ptr<std::atomic<int>> newest_;
  int ticket_ = 0;
  int answeredTicket_ = 0;
  HookAnswer answer_;
};

}  // namespace lockstep::ui
