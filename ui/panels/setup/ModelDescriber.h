#pragma once

#include <QObject>
#include <QString>
#include <QTemporaryDir>
#include <QTimer>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/experiment/Experiment.h"
#include "ui/panels/AskedProgram.h"

namespace lockstep::ui {

/// One parameter of a model, as lockstep-rank describes it.
struct ModelParameter {
  QString name;
  std::vector<std::int64_t> shape;
  QString dtype;
  std::uint64_t bytes = 0;

  bool operator==(const ModelParameter&) const = default;
};

/// Asks lockstep-rank for the parameters of an experiment's model, a moment after the last change;
/// that is a process of its own and may take seconds. [ui-thread]
class ModelDescriber : public QObject {
  Q_OBJECT

 public:
  /// `rank` is the path of lockstep-rank; empty when it is not installed.
  explicit ModelDescriber(const QString& rank, QObject* parent = nullptr);

  /// Another lockstep-rank. When there is none (empty), `whyNot` says why; the usual reason is
  /// that it is not installed. What was asked is to be asked again.
  void setRank(const QString& rank, const QString& whyNot = {});

  /// Asks anew when model or data differ from what was asked last.
  void ask(const experiment::Experiment& experiment);

  [[nodiscard]] bool isAsking() const { return timer_.isActive() || program_.busy(); }
  /// Of the last experiment asked about; empty until the answer, or with a problem.
  [[nodiscard]] const std::vector<ModelParameter>& parameters() const { return parameters_; }
  /// Why there are none, a sentence.
  [[nodiscard]] QString problem() const { return problem_; }

 signals:
  void changed();

 private:
  void start();
  void drop();
  void take(const ProgramAnswer& answer);
  void fail(const QString& problem);

  QString rank_;
  QTemporaryDir folder_;
  QTimer timer_;
  AskedProgram program_;
  std::string asked_;
  std::string toml_;
  std::vector<ModelParameter> parameters_;
  QString problem_;
};

}  // namespace lockstep::ui
