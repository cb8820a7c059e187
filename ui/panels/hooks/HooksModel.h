#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "engine/plugin/PluginScan.h"
#include "ui/panels/hooks/HookVerifier.h"

namespace lockstep::ui {

/// One hook of one library, or one library that was refused.
struct HookRow {
  enum class State { kReady, kHidden, kDisabled, kVerifying, kVerified, kFailed, kRefused };

  QString id;  ///< of a refused library: its file's name
  QString version;
  QString abi;   ///< "0.1": major and minor
  QString from;  ///< "built-in", "user", "experiment"
  QString path;
  State state = State::kReady;
  QString error;  ///< why it was refused, or what its verification found
  plugin::HookInfo info;
  std::optional<HookVerdict> verdict;

  [[nodiscard]] bool refused() const { return state == State::kRefused; }
  /// Whether an experiment can name it.
  [[nodiscard]] bool usable() const { return !refused() && state != State::kHidden; }
};

/// "ready", "hidden", …
QString nameOf(HookRow::State state);

/// The hooks of the plugin folders, as a scan found them, with what the user disabled and what
/// verifications of this session found. [ui-thread]
class HooksModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kName, kVersion, kAbi, kState, kError, kFrom, kPath, kColumnCount };

  using QAbstractTableModel::QAbstractTableModel;

  /// Takes what a scan found, in the order in which ids are looked up.
  void setLibraries(std::vector<plugin::FoundLibrary> libraries);
  /// Reads again what is disabled.
  void disabledChanged();
  void setVerifying(const QString& library);
  void setVerdicts(const QString& library, const std::map<QString, HookVerdict>& verdicts,
                   const QString& error);

  [[nodiscard]] const HookRow& row(int index) const {
    return rows_.at(static_cast<std::size_t>(index));
  }
  /// The first row of that hook; -1 when there is none.
  [[nodiscard]] int find(const QString& id) const;
  /// Ids that an experiment can name and the user did not disable.
  [[nodiscard]] QStringList offered() const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 private:
  void rebuild();
  [[nodiscard]] QString text(const HookRow& row, int column) const;
  void judge(HookRow& row, bool hidden, const QString& hider) const;

  std::vector<plugin::FoundLibrary> libraries_;
  std::vector<HookRow> rows_;
  /// By library and id; of files that have not changed since, as a new scan forgets them else.
  std::map<std::pair<QString, QString>, HookVerdict> verdicts_;
  std::map<QString, QString> stamps_;  // of verified libraries
  QString verifying_;                  // library
};

}  // namespace lockstep::ui
