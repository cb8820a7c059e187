#pragma once

#include <QAbstractItemModel>
#include <QString>
#include <functional>

class QTableView;
class QWidget;

namespace lockstep::exports {
class OutputFile;
}

namespace lockstep::ui {

// What every table of the studio can do with its text: copy it, write it. All [ui-thread].

/// Returns the selected rows as text, all of them when none is selected: tab-separated, the titles
/// of the columns first, as shown and in the shown order.
QString rowsAsText(const QTableView& table);

/// Lets Ctrl+C, and the menu of the right button where the table has no other, put that on the
/// clipboard.
void makeCopyable(QTableView& table);

/// Returns the table as CSV (RFC 4180) with its titles, in the order of the model, as far as that has
/// handed it out.
QString csvOf(const QAbstractItemModel& model);

/// Writes that of the whole table into a file, which is there whole or not at all; a device is
/// written as it is. Returns what went wrong, in a sentence; empty: nothing did.
QString writeTable(QAbstractItemModel& model, const QString& path);

/// Has `write` fill a file, with the same promises.
QString writeFile(const QString& path, const std::function<void(exports::OutputFile&)>& write);

/// Asks for a CSV file and has it written; what `write` says went wrong stands in a message box.
void exportFile(QWidget* parent, const QString& suggestion,
                const std::function<QString(const QString& path)>& write);

/// The same of a table.
void exportTable(QWidget* parent, QAbstractItemModel& model, const QString& suggestion);

}  // namespace lockstep::ui
