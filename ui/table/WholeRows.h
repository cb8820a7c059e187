#pragma once

#include <QObject>
#include <QTimer>
#include <vector>

class QSplitter;

namespace lockstep::ui {

class TableView;

/// Keeps the lower part of a splitter, a table or several in tabs, as high as whole rows are, so
/// that the last row in sight is never cut; about a part of the splitter's height, until somebody
/// moves the handle. Belongs to the splitter. [ui-thread]
class WholeRows : public QObject {
 public:
  WholeRows(QSplitter* splitter, std::vector<TableView*> tables, double part);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void share();
  void fit();

  QSplitter* splitter_;
  std::vector<TableView*> tables_;
  double part_;
  bool shares_ = true;  // nobody has moved the handle
  QTimer whenLaidOut_;
};

}  // namespace lockstep::ui
