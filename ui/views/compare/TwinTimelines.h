#pragma once

#include <QWidget>
#include <cstdint>

#include "ui/views/compare/TwinPane.h"

class QComboBox;
class QLabel;
class QSpinBox;

namespace lockstep::ui {

/// Two runs' timelines, one above the other, aligned at the start of an iteration of each. Moving
/// or zooming one moves the other, and a selection is made in both. [ui-thread]
class TwinTimelines : public QWidget {
  Q_OBJECT

 public:
  explicit TwinTimelines(QWidget* parent = nullptr);

  /// Shows two runs at an iteration of each; null: no run.
  /// `runB` is the place of the second in the comparison, 1 is B.
  void showRuns(RunModel* a, std::uint32_t iterationA, RunModel* b, std::size_t runB,
                std::uint32_t iterationB);
  /// Shows these iterations and selects a bucket's communication in both; kNoBucket: none.
  void goTo(std::uint32_t iterationA, int rankA, std::uint32_t iterationB, int rankB,
            std::uint16_t bucket);
  void setTheme(Theme theme);

  [[nodiscard]] TwinPane* paneA() const { return a_; }
  [[nodiscard]] TwinPane* paneB() const { return b_; }
  [[nodiscard]] QSpinBox* iterationBoxA() const { return iterationA_; }
  [[nodiscard]] QSpinBox* iterationBoxB() const { return iterationB_; }

 private:
  void setIterations(std::uint32_t a, std::uint32_t b);
  void align();
  void showIterations();

  TwinPane* a_;
  TwinPane* b_;
  QSpinBox* iterationA_;
  QSpinBox* iterationB_;
  QLabel* nameB_;
  QLabel* labelA_;
  QLabel* labelB_;
  QComboBox* colour_;
};

}  // namespace lockstep::ui
