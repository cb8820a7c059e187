#pragma once

#include <QAbstractButton>
#include <QApplication>
#include <QFileDialog>
#include <QLineEdit>
#include <QTimer>
#include <filesystem>

namespace lockstep::ui::test {

/// Presses a button that asks for a file to write, and answers with this one.
inline void writeBy(QAbstractButton& button, const std::filesystem::path& path) {
  QApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
  // The dialog has an event loop of its own: it is answered from there.
  QTimer answer;
  QObject::connect(&answer, &QTimer::timeout, [&] {
    if (auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget())) {
      answer.stop();
      // By its whole name: the folder that is shown follows later, from a thread of its own.
      dialog->findChild<QLineEdit*>("fileNameEdit")->setText(QString::fromStdString(path.string()));
      QMetaObject::invokeMethod(dialog, "accept");
    }
  });
  answer.start(10);
  button.click();
  QApplication::setAttribute(Qt::AA_DontUseNativeDialogs, false);
}

}  // namespace lockstep::ui::test
