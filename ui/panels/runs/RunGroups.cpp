#include "ui/panels/runs/RunGroups.h"

#include <QCoreApplication>
#include <QHash>
#include <algorithm>

namespace lockstep::ui {
namespace {

QString groupText(const RunEntry& run, const QString& key) {
  if (run.unread || !run.problem.isEmpty()) {
    return {};
  }
  return key == QLatin1String("name")    ? run.name
         : key == QLatin1String("tag")   ? run.label.tags.join(QStringLiteral(", "))
         : key == QLatin1String("sweep") ? run.sweep
         : key == QLatin1String("day")
             ? run.started.toLocalTime().toString(QStringLiteral("yyyy-MM-dd"))
             : settingText(run.settings, key);
}

// Where each of some texts stands: by number where all are numbers, else by the alphabet; of days
// the latest is first.
QHash<QString, double> placesOf(QStringList texts, bool latestFirst) {
  texts.removeDuplicates();
  QHash<QString, double> places;
  for (const QString& text : texts) {
    bool isNumber = false;
    const double number = text.toDouble(&isNumber);
    if (!isNumber) {
      break;
    }
    places.insert(text, number);
  }
  if (places.size() == texts.size()) {
    return places;
  }
  std::ranges::sort(texts, [](const QString& a, const QString& b) {
    const int order = a.compare(b, Qt::CaseInsensitive);
    return order < 0 || (order == 0 && a < b);
  });
  for (qsizetype i = 0; i < texts.size(); ++i) {
    places.insert(texts[i], static_cast<double>(latestFirst ? texts.size() - i : i));
  }
  return places;
}

}  // namespace

RunGroups::RunGroups(const std::vector<RunEntry>& runs, const QString& key) {
  if (key.isEmpty()) {
    return;
  }
  title = titleOfGroups(key);
  QStringList known;
  for (const RunEntry& run : runs) {
    texts.push_back(groupText(run, key));
    if (!texts.back().isEmpty()) {
      known << texts.back();
    }
  }
  const QHash<QString, double> places = placesOf(known, key == QLatin1String("day"));
  for (const QString& text : texts) {
    const auto place = places.constFind(text);
    order.push_back(place == places.constEnd() ? std::nullopt : std::optional(*place));
  }
}

QString titleOfGroups(const QString& key) {
  const auto word = [](const char* text) { return QCoreApplication::translate("RunGroups", text); };
  if (key == QLatin1String("name")) return word("Name");
  if (key == QLatin1String("tag")) return word("Tags");
  if (key == QLatin1String("day")) return word("Day");
  if (key == QLatin1String("sweep")) return word("Sweep");
  return key;
}

}  // namespace lockstep::ui
