#pragma once

#include <QWidget>
#include <memory>
#include <vector>

#include "engine/cost/VerifiedHook.h"
#include "engine/diagnosis/WantedChange.h"
#include "engine/simulate/CollectiveModel.h"
#include "ui/views/whatif/WhatIfRun.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QPushButton;
class QSlider;

namespace lockstep::ui {

class WhatIfLinks;

/// Sliders and choices of what is to be changed: cap or the tuner's list, link, hook, computing, a
/// rank, how many ranks. What a run does not offer is disabled. [ui-thread]
class WhatIfControls : public QWidget {
  Q_OBJECT

 public:
  explicit WhatIfControls(QWidget* parent = nullptr);

  /// Offers what there is beside the run's own. What was chosen of the same run stays; null: there
  /// is no run.
  void setRun(std::shared_ptr<const WhatIfRun> run);
  /// Back to how the run was.
  void reset();

  [[nodiscard]] diagnosis::WantedChange wanted() const;
  /// 0: as many as were recorded.
  [[nodiscard]] int ranks() const;
  /// Of the allreduce among more ranks.
  [[nodiscard]] simulate::Algorithm algorithm() const;

  /// Returns whether there are others than before: then the list of hooks is to be filled anew, by
  /// offerVerifiedHooks(), too.
  bool setVerifiedHooks(std::vector<cost::VerifiedHook> hooks);
  /// Adds them to the list.
  void offerVerifiedHooks();

  /// Why what is chosen cannot be run; empty: it can.
  void blockRun(const QString& why);

  [[nodiscard]] QSlider* cap() const { return cap_; }
  [[nodiscard]] QCheckBox* tuned() const { return tuned_; }
  [[nodiscard]] WhatIfLinks* links() const { return links_; }
  /// Other runs, whose hooks are offered, stand in it by their paths: whoever knows them fills it.
  [[nodiscard]] QComboBox* hooks() const { return hooks_; }
  [[nodiscard]] QSlider* computing() const { return computing_; }
  [[nodiscard]] QComboBox* rank() const { return rank_; }
  [[nodiscard]] QComboBox* manyRanks() const { return manyRanks_; }
  [[nodiscard]] QPushButton* runButton() const { return run_; }

 signals:
  void changed();
  void runRequested();

 private:
  void showState();
  void moved();
  void setCap(std::uint64_t bytes);
  [[nodiscard]] std::uint64_t capBytes() const;
  void fillRanks();

  std::shared_ptr<const WhatIfRun> of_;
  std::vector<std::shared_ptr<const cost::VerifiedHook>> verified_;
  bool capChosen_ = false;

  QSlider* cap_;
  QLabel* capText_;
  QCheckBox* tuned_;
  WhatIfLinks* links_;
  QComboBox* hooks_;
  QSlider* computing_;
  QLabel* computingText_;
  QComboBox* rank_;
  QComboBox* manyRanks_;
  QComboBox* algorithms_;
  QPushButton* run_;
};

}  // namespace lockstep::ui
