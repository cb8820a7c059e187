#include "ui/canvas/TabularFigures.h"

#include <array>
#include <cstring>
#include <map>
#include <vector>

#include "ui/canvas/FontTables.h"

namespace lockstep::ui {
namespace {

// All that is kept of the font, in the order of the directory. "GSUB" is left out: what it would
// do with figures has been done, and hinting of TrueType is not used for smooth text.
constexpr std::array<const char*, 14> kKept{"CFF ", "GDEF", "GPOS", "OS/2", "cmap", "glyf", "head",
                                            "hhea", "hmtx", "kern", "loca", "maxp", "name", "post"};
constexpr quint32 kLastCharacter = 0xFFFF;
constexpr quint16 kSingle = 1;
constexpr quint16 kExtension = 7;

using Glyphs = std::map<quint16, quint16>;

/// A part of a table, from which numbers are read; 0 beyond its end, so that a damaged font leads
/// to no feature.
class Reader {
 public:
  explicit Reader(const QByteArray& table, qsizetype from = 0) : table_(table), from_(from) {}
  [[nodiscard]] quint16 at(qsizetype offset) const { return read<quint16>(offset); }
  [[nodiscard]] quint32 longAt(qsizetype offset) const { return read<quint32>(offset); }
  [[nodiscard]] bool tagIs(qsizetype offset, const char* tag) const {
    return from_ + offset + 4 <= table_.size() &&
           std::memcmp(table_.constData() + from_ + offset, tag, 4) == 0;
  }
  /// The part whose place, from the begin of this one, stands at `offset`.
  [[nodiscard]] Reader part(qsizetype offset) const { return moved(at(offset)); }
  [[nodiscard]] Reader moved(qsizetype by) const { return Reader(table_, from_ + by); }

 private:
  template <typename T>
  [[nodiscard]] T read(qsizetype offset) const {
    const qsizetype place = from_ + offset;
    return place + static_cast<qsizetype>(sizeof(T)) <= table_.size()
               ? qFromBigEndian<T>(table_.constData() + place)
               : T{0};
  }

  const QByteArray& table_;
  qsizetype from_;
};

/// The glyphs of a "Coverage" table, in their order.
std::vector<quint16> covered(const Reader& coverage) {
  std::vector<quint16> glyphs;
  const quint16 count = coverage.at(2);
  for (quint16 i = 0; i < count; ++i) {
    if (coverage.at(0) == 1) {
      glyphs.push_back(coverage.at(4 + 2 * i));
      continue;
    }
    const quint16 first = coverage.at(4 + 6 * i);
    const quint16 last = coverage.at(6 + 6 * i);
    for (int glyph = first; glyph <= last; ++glyph) {
      glyphs.push_back(static_cast<quint16>(glyph));
    }
  }
  return glyphs;
}

void addSubstitutes(Glyphs& glyphs, const Reader& substitution) {
  const std::vector<quint16> from = covered(substitution.part(2));
  for (std::size_t i = 0; i < from.size(); ++i) {
    glyphs[from[i]] =
        substitution.at(0) == 1
            ? static_cast<quint16>(from[i] + substitution.at(4))
            : substitution.at(6 + 2 * static_cast<qsizetype>(i));
  }
}

void addLookup(Glyphs& glyphs, const Reader& lookup) {
  for (quint16 i = 0; i < lookup.at(4); ++i) {
    const Reader part = lookup.part(6 + 2 * i);
    if (lookup.at(0) == kSingle) {
      addSubstitutes(glyphs, part);
    } else if (lookup.at(0) == kExtension && part.at(2) == kSingle) {
      addSubstitutes(glyphs, part.moved(part.longAt(4)));
    }
  }
}

/// What the feature "tnum" of a "GSUB" table puts in the place of which glyph. (OpenType
/// specification, "GSUB" and "Common Table Formats".)
Glyphs tabular(const QByteArray& table) {
  const Reader gsub(table);
  const Reader features = gsub.part(6);
  const Reader lookups = gsub.part(8);
  Glyphs glyphs;
  for (quint16 i = 0; i < features.at(0); ++i) {
    if (!features.tagIs(2 + 6 * i, "tnum")) {
      continue;
    }
    const Reader feature = features.part(6 + 6 * i);
    for (quint16 k = 0; k < feature.at(2); ++k) {
      addLookup(glyphs, lookups.part(2 + 2 * feature.at(4 + 2 * k)));
    }
  }
  return glyphs;
}

/// A table "cmap" (format 12) of these glyphs by character.
QByteArray characterMap(const std::map<quint32, quint32>& glyphs) {
  struct Group {
    quint32 first, last, glyph;
  };
  std::vector<Group> groups;
  for (const auto& [character, glyph] : glyphs) {
    if (!groups.empty() && groups.back().last + 1 == character &&
        groups.back().glyph + (character - groups.back().first) == glyph) {
      groups.back().last = character;
    } else {
      groups.push_back({character, character, glyph});
    }
  }
  QByteArray table;
  // Version; one map of all characters, as Unicode and as Windows name it: beside that of Windows
  // alone FreeType would make one of its own, by the names of glyphs, and prefer it.
  constexpr quint32 kBegin = 4 + 2 * 8;
  appendBigEndian<quint16>(table, 0);
  appendBigEndian<quint16>(table, 2);
  for (const auto& [platform, encoding] : {std::pair{quint16{0}, quint16{4}}, {3, 10}}) {
    appendBigEndian(table, platform);
    appendBigEndian(table, encoding);
    appendBigEndian(table, kBegin);
  }
  appendBigEndian<quint16>(table, 12);  // its format
  appendBigEndian<quint16>(table, 0);
  appendBigEndian<quint32>(table, static_cast<quint32>(16 + 12 * groups.size()));
  appendBigEndian<quint32>(table, 0);  // of any language
  appendBigEndian<quint32>(table, static_cast<quint32>(groups.size()));
  for (const Group& group : groups) {
    appendBigEndian(table, group.first);
    appendBigEndian(table, group.last);
    appendBigEndian(table, group.glyph);
  }
  return table;
}

/// A table "name": the family and its style, as Windows names them.
QByteArray names(const QString& family, const QString& style) {
  const std::array<std::pair<quint16, QString>, 3> all{
      {{quint16{1}, family}, {quint16{2}, style}, {quint16{4}, family + QLatin1Char(' ') + style}}};
  QByteArray table;
  QByteArray letters;
  appendBigEndian<quint16>(table, 0);
  appendBigEndian<quint16>(table, static_cast<quint16>(all.size()));
  appendBigEndian<quint16>(table, static_cast<quint16>(6 + 12 * all.size()));
  for (const auto& [id, text] : all) {
    for (const quint16 word : {quint16{3}, quint16{1}, quint16{0x409}, id}) {
      appendBigEndian(table, word);
    }
    appendBigEndian<quint16>(table, static_cast<quint16>(2 * text.size()));
    appendBigEndian<quint16>(table, static_cast<quint16>(letters.size()));
    for (const QChar letter : text) {
      appendBigEndian<quint16>(letters, letter.unicode());
    }
  }
  return table + letters;
}

}  // namespace

QByteArray withTabularFigures(const QRawFont& font, const QString& family) {
  const Glyphs figures = tabular(font.fontTable("GSUB"));
  std::map<quint32, quint32> glyphs;
  for (quint32 character = ' '; character <= kLastCharacter; ++character) {
    const QChar letter(static_cast<char16_t>(character));
    quint32 glyph = 0;
    int count = 1;
    if (letter.isSurrogate() || !font.glyphIndexesForChars(&letter, 1, &glyph, &count) ||
        glyph == 0) {
      continue;
    }
    if (character >= '0' && character <= '9') {
      const auto figure = figures.find(static_cast<quint16>(glyph));
      if (figure == figures.end()) {
        return {};
      }
      glyph = figure->second;
    }
    glyphs[character] = glyph;
  }
  std::vector<FontTable> tables;
  for (const char* tag : kKept) {
    QByteArray bytes = std::strcmp(tag, "cmap") == 0   ? characterMap(glyphs)
                       : std::strcmp(tag, "name") == 0 ? names(family, font.styleName())
                                                       : font.fontTable(tag);
    if (!bytes.isEmpty()) {
      tables.push_back({tag, std::move(bytes)});
    }
  }
  return assembled(tables);
}

}  // namespace lockstep::ui
