#pragma once

#include <QObject>

class QSplitter;

namespace lockstep::ui {

class TableView;

/// Gives the table at the lower end of a splitter about a part of its height, so that the last row
/// in sight is seen whole; until somebody moves the handle. Belongs to the splitter. [ui-thread]
class WholeRows : public QObject {
 public:
  WholeRows(QSplitter* splitter, TableView* table, double part);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void share();

  QSplitter* splitter_;
  TableView* table_;
  double part_;
};

}  // namespace lockstep::ui
