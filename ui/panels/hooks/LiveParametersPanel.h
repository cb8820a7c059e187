#pragma once

#include <QPointer>
#include <QString>
#include <QWidget>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "engine/base/Result.h"
#include "engine/experiment/SettingChange.h"
#include "ui/model/BackgroundJob.h"
#include "ui/panels/hooks/LiveParameterEditors.h"

class QHBoxLayout;
class QLabel;

namespace lockstep::ui {

class RunModel;

/// Controls for the parameters of a live run's hook that may change while it trains: what
/// `lockstep set RUN hook.KEY=VALUE` does, with the range at hand, and from which step on each
/// value holds. Hidden while there is nothing to change. Nothing blocks: plugins are asked and
/// changes are sent on threads of the pool. [ui-thread]
class LiveParametersPanel : public QWidget {
  Q_OBJECT

 public:
  /// Sends a change to a run. [any-thread], may block.
  using Sender = std::function<base::Status(const std::filesystem::path& run,
                                            const experiment::SettingChange& change)>;
  /// Finds the live parameters of a run. [any-thread], may block.
  using Finder =
      std::function<base::Result<std::vector<LiveParameter>>(const trace::RunInfo& info)>;

  /// Without arguments through the run's control socket, and by its plugins.
  explicit LiveParametersPanel(QWidget* parent = nullptr);
  LiveParametersPanel(Sender sender, Finder finder, QWidget* parent = nullptr);

  /// Not owned; null: nothing to change.
  void setRun(RunModel* model);

  [[nodiscard]] std::size_t count() const { return controls_.size(); }

 signals:
  /// A change was refused; one sentence.
  void failed(const QString& sentence);

 private:
  struct Control {
    LiveParameter parameter;
    LiveParameterEditor editor;
    QLabel* state = nullptr;
    QString wanted;  ///< asked for and not in force yet; empty: nothing
    QString held;    ///< what the ranks use
  };

  void consider();
  void take(std::vector<LiveParameter> parameters);
  void clear();
  void change(std::size_t index, const plugin::HookValue& value);
  void answered(std::size_t index, const base::Status& status);
  void readChanges();
  void showState(Control& control, const QString& since = QString());

  Sender sender_;
  Finder finder_;
  QPointer<RunModel> model_;
  QHBoxLayout* row_ = nullptr;
  std::vector<Control> controls_;
  std::set<std::pair<std::uint32_t, QString>> changesSeen_;  // by step and key
  bool asked_ = false;  // the run's parameters are being looked for, or found
  BackgroundJob finding_{this};
  quint64 ticket_ = 0;  // answers for another run are dropped
};

}  // namespace lockstep::ui
