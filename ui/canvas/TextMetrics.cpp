#include "ui/canvas/TextMetrics.h"

#include <QFontDatabase>
#include <QGuiApplication>
#include <QHash>
#include <array>
#include <vector>

namespace lockstep::ui {
namespace {

// Fonts and their metrics are looked up thousands of times a frame.
struct FontCache {
  QFont application;
  std::array<QFont, kFontRoles> fonts;
  std::vector<QFontMetricsF> metrics;
  std::array<QHash<QString, double>, kFontRoles> widths;

  void fill(const QFont& font) {
    application = font;
    metrics.clear();
    widths = {};
    for (int i = 0; i < kFontRoles; ++i) {
      const auto role = static_cast<FontRole>(i);
      QFont& face = fonts[static_cast<std::size_t>(i)];
      face = role == FontRole::kMono ? QFontDatabase::systemFont(QFontDatabase::FixedFont) : font;
      face.setPixelSize(canvasFontPixels(role));
      face.setBold(role == FontRole::kBold);
      metrics.emplace_back(face);
    }
  }
};

constexpr qsizetype kWidthsKept = 16'384;

FontCache& cache() {
  // Never freed: fonts must not outlive the application, and static objects do.
  static FontCache* const kCache = new FontCache;
  // Compared at every call: the user may choose another font while the studio runs.
  const QFont font = QGuiApplication::font();
  if (kCache->metrics.empty() || kCache->application != font) {
    kCache->fill(font);
  }
  return *kCache;
}

}  // namespace

int canvasFontPixels(FontRole role) {
  return role == FontRole::kSmall || role == FontRole::kMono ? 11 : 12;
}

const QFont& canvasFont(FontRole role) { return cache().fonts[static_cast<std::size_t>(role)]; }

const QFontMetricsF& canvasFontMetrics(FontRole role) {
  return cache().metrics[static_cast<std::size_t>(role)];
}

double textWidth(const QString& text, FontRole role) {
  FontCache& fonts = cache();
  auto& widths = fonts.widths[static_cast<std::size_t>(role)];
  if (const auto known = widths.constFind(text); known != widths.cend()) {
    return *known;
  }
  if (widths.size() >= kWidthsKept) {
    widths.clear();
  }
  const double width =
      fonts.metrics[static_cast<std::size_t>(role)].horizontalAdvance(text);
  widths.insert(text, width);
  return width;
}

QStringList brokenInto(const QString& text, double width, FontRole role, qsizetype most) {
  QStringList lines;
  QString line;
  for (const QString& word : text.split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
    const QString longer = line.isEmpty() ? word : line + QLatin1Char(' ') + word;
    if (!line.isEmpty() && lines.size() + 1 < most && textWidth(longer, role) > width) {
      lines << line;
      line = word;
    } else {
      line = longer;
    }
  }
  if (!line.isEmpty()) {
    lines << line;
  }
  return lines;
}

double lineHeight(FontRole role) { return canvasFontMetrics(role).height(); }

}  // namespace lockstep::ui
