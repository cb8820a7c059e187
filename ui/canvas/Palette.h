#pragma once

#include <QColor>
#include <cstdint>

namespace lockstep::ui {

enum class Theme { kLight, kDark };

/// The classes of time that the views tell apart. Each has a colour that people with the
/// common colour vision deficiencies can tell from its neighbours (after Okabe and Ito, 2008,
/// softened for large areas); where meaning hangs on it, a hatch says it too.
enum class Tone : std::uint8_t {
  kStep,
  kData,
  kForward,
  kBackward,
  kOptimizer,
  kEvaluate,
  kStartup,
  kRebuild,
  kGradient,
  kCopy,
  kWait,
  kFinalize,
  kEncode,
  kCommunicate,
  kDecode,
  kTransfer,
  kNeutral,
  kCheck,
  kUndivided,
  kShadow,
  kFault,
  kLink,
};
inline constexpr int kTones = 22;

/// Colours of one theme. Text on the surfaces named beside it keeps a contrast of at least
/// 4.5 : 1 (WCAG AA).
struct Palette {
  Theme theme = Theme::kLight;
  QColor background;      ///< of the canvas
  QColor surface;         ///< of rulers, headers, labels, cards
  QColor raised;          ///< of the rank header, of a card's title
  QColor lane;            ///< of every other lane
  QColor grid;            ///< lines of the time grid
  QColor gridStrong;      ///< borders, iteration boundaries
  QColor text;            ///< on background, surface, raised
  QColor textMuted;       ///< the same, less important
  QColor action;          ///< the window's one accent: links, focus, the tab in front; as text, too
  QColor chosen;          ///< ground of what is chosen in a list, under text
  QColor accent;          ///< what is selected on a canvas, among the colours of the data
  QColor hover;           ///< outline of what lies under the pointer
  QColor warning;         ///< gaps, late ranks
  QColor error;
  QColor good;
  QColor measure;         ///< the measuring band

  /// Returns the palette of a theme; it lives for ever. [any-thread]
  static const Palette& of(Theme theme);

  [[nodiscard]] QColor tone(Tone tone) const;
  /// Colours of buckets, repeating after eight; neighbours differ in lightness too.
  [[nodiscard]] QColor bucket(int index) const;
  /// Colours of ranks in charts, repeating after eight.
  [[nodiscard]] QColor rank(int index) const;
  /// Returns black or white, whichever reads better on `fill`.
  [[nodiscard]] static QColor textOn(const QColor& fill);
};

/// Returns `part` of `a` laid over the rest of `b`, opaque. [any-thread]
QColor mixed(const QColor& a, const QColor& b, double part);

/// Returns `colour` with an opacity of its own, 0 to 1. [any-thread]
QColor withAlpha(QColor colour, float alpha);

/// Returns the WCAG 2.1 contrast ratio, 1 to 21. [any-thread]
double contrastRatio(const QColor& a, const QColor& b);

}  // namespace lockstep::ui
