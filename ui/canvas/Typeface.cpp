#include "ui/canvas/Typeface.h"

#include <QApplication>
#include <QFontDatabase>
#include <QFontInfo>

#include "ui/canvas/TabularFigures.h"

namespace lockstep::ui {
namespace {

const QString kInstalled = QStringLiteral("Inter");
// Another name than the installed one, since it has other figures.
const QString kOurs = QStringLiteral("Inter Tabular");

/// Adds one style of the installed face to those of the application; false when it is not there.
bool addStyle(QFont::Weight weight, bool italic) {
  QFont installed(kInstalled, -1, weight, italic);
  installed.setStyleStrategy(QFont::NoFontMerging);
  if (QFontInfo(installed).family() != kInstalled) {
    return false;
  }
  const QByteArray file = withTabularFigures(QRawFont::fromFont(installed), kOurs);
  return !file.isEmpty() && QFontDatabase::addApplicationFontFromData(file) >= 0;
}

}  // namespace

void useTypeface() {
  // A name alone is not enough: without Inter Qt would take any face for it.
  if (!QFontDatabase::families().contains(kInstalled) || !addStyle(QFont::Normal, false)) {
    return;
  }
  addStyle(QFont::Bold, false);
  addStyle(QFont::Normal, true);
  QFont font = QApplication::font();
  // Signs that it lacks come from the face that the programs depend on.
  font.setFamilies({kOurs, kInstalled, QStringLiteral("DejaVu Sans")});
  // Also of menus and tips, for which a desktop may have other fonts.
  QApplication::setFont(font);
}

}  // namespace lockstep::ui
