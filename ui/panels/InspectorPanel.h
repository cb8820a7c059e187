#pragma once

#include <QString>
#include <QWidget>
#include <cstdint>
#include <vector>

#include "ui/model/RunModel.h"
#include "ui/model/ViewState.h"

class QLabel;
class QPushButton;
class QStackedLayout;
class QTimer;

namespace lockstep::ui {

class LowTable;

/// Shows what is known of the selected span: its fields, every rank's arrival at the same
/// collective, and the parameters of its bucket. A rank leads to its span, a parameter and the
/// button "Find all" to a search. [ui-thread]
class InspectorPanel : public QWidget {
  Q_OBJECT

 public:
  explicit InspectorPanel(QWidget* parent = nullptr);

  /// Neither is owned; null empties the panel. Both outlive their use here.
  void setRun(RunModel* model, ViewState* state);
  /// Says of an iteration of this run, beside its facts, what the verdict says of it.
  void setVerdict(std::uint32_t iteration, const QString& sentence);

  /// Puts the facts of the selection on the clipboard.
  void copyJson() const;
  /// Selects the next (1) or previous (-1) span of the same kind in the lane.
  void selectNeighbour(int direction);

 signals:
  /// A link to a span was followed: where it stands should be brought into sight.
  void chosen(const lockstep::ui::Span& span);
  /// All that a query asks for (see SpanQuery) is wanted in a list.
  void findAllRequested(const QString& query);

 private:
  void refresh();
  void forget();
  void goTo(const Span& span);
  void fillFacts(const Span& span);
  void fillArrivals(const Span& span);
  void fitArrivals();
  void fillParameters(const Span& span);

  RunModel* model_ = nullptr;
  ViewState* state_ = nullptr;
  std::uint32_t judged_ = 0;   // the iteration that `verdict_` is about
  QString verdict_;            // empty: nothing is said
  std::vector<Span> arrived_;  // of each row of `arrivals_`
  QTimer* later_;
  QStackedLayout* stack_;
  QLabel* title_;
  LowTable* facts_;
  QLabel* arrivalsTitle_;
  LowTable* arrivals_;
  QLabel* parametersTitle_;
  LowTable* parameters_;
  QPushButton* previous_;
  QPushButton* next_;
};

}  // namespace lockstep::ui
