#include "ui/panels/runs/KeptFigures.h"

#include <QCryptographicHash>
#include <QSettings>
#include <QStandardPaths>
#include <QStringList>
#include <utility>

namespace lockstep::ui {
namespace {

// Another number when an analysis comes to other figures, or an entry looks otherwise.
constexpr int kVersion = 1;
constexpr int kMost = 2000;  // runs; then all are forgotten, since most of those may be gone

QString keyOf(const std::filesystem::path& run) {
  const QByteArray name = QByteArray::fromStdString(std::filesystem::absolute(run).string());
  return QStringLiteral("figures%1/").arg(kVersion) +
         QString::fromLatin1(QCryptographicHash::hash(name, QCryptographicHash::Sha1).toHex());
}

QString textOf(const std::optional<double>& figure) {
  return figure ? QString::number(*figure, 'g', 17) : QStringLiteral("-");
}

/// False: it is no figure.
bool read(const QString& text, std::optional<double>& figure) {
  bool isNumber = false;
  const double number = text.toDouble(&isNumber);
  figure = isNumber ? std::optional(number) : std::nullopt;
  return isNumber || text == QLatin1String("-");
}

}  // namespace

KeptFigures::KeptFigures(QString file) : file_(std::move(file)) {}

QString KeptFigures::defaultFile() {
  return QStandardPaths::writableLocation(QStandardPaths::GenericCacheLocation) +
         QStringLiteral("/lockstep/run-figures.ini");
}

std::optional<RunFigures> KeptFigures::find(const std::filesystem::path& run,
                                            const QString& stamp) const {
  const QStringList entry = QSettings(file_, QSettings::IniFormat).value(keyOf(run)).toStringList();
  RunFigures figures;
  const bool whole = entry.size() == 4 && entry[0] == stamp &&
                     read(entry[1], figures.stepsPerSecond) &&
                     read(entry[2], figures.overlapPercent) && read(entry[3], figures.exposedMs);
  return whole ? std::optional(figures) : std::nullopt;
}

void KeptFigures::keep(const std::filesystem::path& run, const QString& stamp,
                       const RunFigures& figures) {
  QSettings settings(file_, QSettings::IniFormat);
  if (settings.allKeys().size() >= kMost) {
    settings.clear();
  }
  settings.setValue(
      keyOf(run), QStringList{stamp, textOf(figures.stepsPerSecond), textOf(figures.overlapPercent),
                              textOf(figures.exposedMs)});
}

}  // namespace lockstep::ui
