#pragma once

#include <QObject>
#include <QString>
#include <optional>
#include <string>
#include <vector>

#include "engine/experiment/Sweep.h"
#include "engine/plugin/HookInfo.h"
#include "engine/plugin/PluginScan.h"
#include "ui/model/BackgroundJob.h"

namespace lockstep::ui {

class SetupDraft;

/// An experiment's text, to be checked with all that can be known of it.
struct HookQuestion {
  std::string toml;
  std::string name;    ///< as mistakes call it
  std::string folder;  ///< of relative paths
  std::string file;    ///< whose folder may hold plugins of its own; empty = none

  bool operator==(const HookQuestion&) const = default;
};

/// What is known for one state of an experiment.
struct HookAnswer {
  std::vector<plugin::FoundLibrary> libraries;  ///< of all plugin folders, refused ones too
  std::vector<plugin::HookInfo> chosen;         ///< of the first run's hooks; empty = own
  /// Its runs, with the mistakes of all, and the paths of its own plugins set.
  experiment::SweptExperiment swept;
};

/// Asks the plugins what hooks they hold, and checks an experiment's hooks in every run of its
/// sweep, on a thread of the pool: each library is described by lockstep-hookscan, never opened
/// here. [ui-thread]
class HookCatalog : public QObject {
  Q_OBJECT

 public:
  /// `hookscan` is the path of lockstep-hookscan; empty = beside the running program.
  explicit HookCatalog(const QString& hookscan, QObject* parent = nullptr);

  /// `answered` follows; of several questions only the last is answered for certain. The question
  /// that was asked last is not asked again.
  void ask(HookQuestion question);
  /// The same about a draft as it stands.
  void ask(const SetupDraft& draft);
  /// The plugins may be others than when they were asked last.
  void forget() { asked_.reset(); }
  /// Whether an answer is still to come.
  [[nodiscard]] bool isAsking() const { return job_.busy(); }
  [[nodiscard]] const HookAnswer& answer() const { return answer_; }
  /// Ids of every hook that can be named, the engine's own first.
  [[nodiscard]] QStringList hookNames() const;
  /// Null for the engine's own and for what no plugin holds.
  [[nodiscard]] const plugin::HookInfo* find(const std::string& id) const;

 signals:
  void answered();

 private:
  void askNext();

  QString hookscan_;
  std::optional<HookQuestion> asked_;
  std::optional<HookQuestion> next_;
  BackgroundJob job_{this};
  HookAnswer answer_;
};

}  // namespace lockstep::ui
