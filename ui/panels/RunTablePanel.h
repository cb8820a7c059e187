#pragma once

#include <QPointer>
#include <QString>
#include <QWidget>
#include <initializer_list>

#include "ui/model/RunModel.h"
#include "ui/model/ViewState.h"
#include "ui/panels/Layouts.h"

class QLineEdit;
class QStackedLayout;

namespace lockstep::ui {

class ElidedLabel;
class EmptyState;
class RangeButton;
class RunRefresh;
class TableView;

/// The frame of a panel that works a table out of the open run: a query that filters, the range of
/// the view state, words about what is shown, and pages that say why nothing is. It works while it
/// is in sight, at most a tenth of the time. [ui-thread]
class RunTablePanel : public QWidget {
  Q_OBJECT

 public:
  /// Restricts what is worked out to what a query asks for (see SpanQuery).
  void setFilter(const QString& query);
  /// Whether what is shown is not yet what was asked for.
  [[nodiscard]] bool busy() const;

 protected:
  /// What the panel says of itself.
  struct Words {
    const char* name;  ///< what its parts' names begin with: "events"
    QString filterHint;
    QString filterCalled;  ///< by a screen reader
    QString rangeTip;      ///< what a click on the range does
    QString wholeRun;      ///< the same, as a button
  };
  /// Why there is nothing, each a sentence.
  struct Reasons {
    QString noRun;
    QString notYet;   ///< a live run has recorded nothing
    QString noMatch;  ///< the filter leaves nothing
    bool outOfRange;  ///< whether the range alone may be why
    QString none;     ///< else
  };

  RunTablePanel(const Words& words, TableView* table, QWidget* parent);

  /// Puts the parts into their places: some before and after the filter, one below all.
  void layOut(std::initializer_list<Part> before, std::initializer_list<Part> behind,
              QWidget* below = nullptr);
  /// Lets go of the run before, and of what was looked for in it.
  void takeRun(RunModel* model, ViewState* state);
  [[nodiscard]] bool open() const { return run_ != nullptr && state_ != nullptr; }
  [[nodiscard]] QString filterText() const;
  /// Names the range that is shown.
  void showRange();
  /// Shows the table, or why there is nothing in it.
  void showTable(bool empty, const Reasons& why);

  QPointer<RunModel> run_;
  QPointer<ViewState> state_;
  RunRefresh* refresh_;
  TableView* table_;
  QLineEdit* filter_;
  RangeButton* range_;
  ElidedLabel* words_;

 private:
  QStackedLayout* stack_;
  EmptyState* nothing_;
  EmptyState* noMatch_;
  EmptyState* outOfRange_;
};

}  // namespace lockstep::ui
