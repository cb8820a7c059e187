#pragma once

#include <QObject>
#include <QPointer>
#include <QString>
#include <memory>
#include <vector>

#include "ui/model/BackgroundJob.h"
#include "ui/model/RunAnalyser.h"
#include "ui/model/RunModel.h"
#include "ui/stage/OpenRun.h"
#include "ui/views/compare/CompareResult.h"

namespace lockstep::ui {

/// The open run and those that it is compared with, each read and analysed off the UI thread;
/// compares them on a thread of the pool whenever all are there and one is new. [ui-thread]
class ComparedRuns : public QObject {
  Q_OBJECT

 public:
  explicit ComparedRuns(QObject* parent = nullptr);
  ~ComparedRuns() override;

  /// The open run; its owner keeps it. Null: none. It is A, which the others are set against.
  void setOpen(const OpenRun& run);
  /// Reads another run; one that is there already, or is the first, is not read again.
  void add(const QString& path);
  /// Reads a run that the open one was made from: alone with it, that is A, and the open run B.
  void setBaseline(const QString& path);
  /// Where that is the open run, which stays, the one that it is set against goes.
  void remove(std::size_t other);
  void clear();
  /// Asks for analyses while somebody looks: a live run's grows old. Cheap.
  void want();

  /// How many there are beside A.
  [[nodiscard]] std::size_t count() const { return others_.size(); }
  /// Run 0 is A; null where no run is open.
  [[nodiscard]] RunModel* model(std::size_t run) const;
  /// Null before its first analysis.
  [[nodiscard]] std::shared_ptr<const AnalysedRun> analysed(std::size_t run) const;
  /// The latest comparison of the runs that are there now; null while there is none.
  [[nodiscard]] std::shared_ptr<const CompareResult> result() const { return result_; }
  /// What is waited for: "Run B is read…"; empty when the comparison stands.
  [[nodiscard]] QString waiting() const;

 signals:
  /// Runs came, went or are still read.
  void runsChanged();
  /// `result` is new, or gone.
  void compared();
  /// A run could not be read and is not added; one sentence.
  void refused(const QString& sentence);

 private:
  struct Other {
    std::unique_ptr<RunModel> model;
    std::unique_ptr<RunAnalyser> analyser;  // goes before its model
  };

  void drop(RunModel* model, const QString& sentence);
  void reconsider();
  void forget();
  [[nodiscard]] std::vector<std::shared_ptr<const AnalysedRun>> analyses() const;
  /// Which run is the open one.
  [[nodiscard]] std::size_t openPlace() const;
  [[nodiscard]] const Other& otherOf(std::size_t run) const;

  // Whoever owns them may end them in any order.
  QPointer<RunModel> openModel_;
  QPointer<RunAnalyser> openAnalyser_;
  std::vector<std::unique_ptr<Other>> others_;
  bool hasBaseline_ = false;  // the first of the others
  std::vector<std::shared_ptr<const AnalysedRun>> comparedFrom_;
  std::shared_ptr<const CompareResult> result_;
  BackgroundJob job_{this};
};

}  // namespace lockstep::ui
