#pragma once

#include <QString>

class QAbstractItemModel;
class QTableView;

namespace lockstep::ui {

/// Makes a table the twin of a canvas: whole rows, sorted by a click on a title, columns as wide
/// as their titles; Ctrl+C copies the selected rows, or all, with their header, tab-separated.
/// `name` is what a screen reader calls it. [ui-thread]
void setUpTwin(QTableView& table, QAbstractItemModel& model, const QString& name);

}  // namespace lockstep::ui
