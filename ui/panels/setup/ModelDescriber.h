#pragma once

#include <QObject>
#include <QString>
#include <QTemporaryDir>
#include <QTimer>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/experiment/Experiment.h"

class QProcess;

namespace lockstep::ui {

/// One parameter of a model, as lockstep-rank describes it.
struct ModelParameter {
  QString name;
  std::vector<std::int64_t> shape;
  QString dtype;
  std::uint64_t bytes = 0;

  bool operator==(const ModelParameter&) const = default;
};

/// Asks lockstep-rank for the parameters of an experiment's model: in a process of its own,
/// which may take so long, a moment after the last change. [ui-thread]
class ModelDescriber : public QObject {
  Q_OBJECT

 public:
  /// `rank` is the path of lockstep-rank; empty when it is not installed.
  explicit ModelDescriber(const QString& rank, QObject* parent = nullptr);
  ~ModelDescriber() override;

  /// Another lockstep-rank. When there is none (empty), `whyNot` says why; the usual reason is
  /// that it is not installed. What was asked is to be asked again.
  void setRank(const QString& rank, const QString& whyNot = {});

  /// Asks anew when model or data differ from what was asked last.
  void ask(const experiment::Experiment& experiment);

  [[nodiscard]] bool isAsking() const { return timer_.isActive() || process_ != nullptr; }
  /// Of the last experiment asked about; empty until the answer, or with a problem.
  [[nodiscard]] const std::vector<ModelParameter>& parameters() const { return parameters_; }
  /// Why there are none, a sentence.
  [[nodiscard]] QString problem() const { return problem_; }

 signals:
  void changed();

 private:
  void start();
  void drop();
  void finish(int exitCode, bool crashed);

  QString rank_;
  QTemporaryDir folder_;
  QTimer timer_;
  QTimer limit_;
  QProcess* process_ = nullptr;
  std::string asked_;
  std::string toml_;
  std::vector<ModelParameter> parameters_;
  QString problem_;
};

}  // namespace lockstep::ui
