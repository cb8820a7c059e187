#include "tests/ui/shell/QtComplaints.h"

#include <gtest/gtest.h>

#include <QString>

namespace lockstep::tests {
namespace {

QtMessageHandler usual = nullptr;

void take(QtMsgType type, const QMessageLogContext& context, const QString& text) {
  if (type == QtWarningMsg || type == QtCriticalMsg) {
    ADD_FAILURE() << "Qt complains: " << text.toStdString();
  } else {
    usual(type, context, text);
  }
}

}  // namespace

void failOnQtComplaints() {
  usual = qInstallMessageHandler(take);
}

}  // namespace lockstep::tests
