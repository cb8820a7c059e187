#pragma once

#include <QAbstractItemModel>
#include <QString>

class QTableView;

namespace lockstep::ui {

/// Returns the whole table as CSV (RFC 4180) with its headings, in the order shown.
QString csvOf(const QAbstractItemModel& model);

/// Gives a table its look, and Ctrl+C, which copies the rows selected, or all when none is, as
/// TSV with headings.
void prepareTable(QTableView* view);

/// Asks for a file and writes the table into it as CSV; a failure is told in a message box.
void exportTable(QWidget* parent, const QAbstractItemModel& model, const QString& suggestion);

}  // namespace lockstep::ui
