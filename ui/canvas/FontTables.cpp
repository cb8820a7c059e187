#include "ui/canvas/FontTables.h"

#include <cstring>

namespace lockstep::ui {
namespace {

constexpr qsizetype kHeaderBytes = 12;
constexpr qsizetype kEntryBytes = 16;

}  // namespace

// The layout is the "font directory" of the OpenType specification: a header, one entry a
// table (tag, checksum, offset, length), the tables at multiples of four. Checksums are not
// looked at by readers of ours and stay zero.
QByteArray assembled(const std::vector<FontTable>& tables) {
  // Outlines stand in one of two tables: "glyf" (TrueType) or "CFF " (PostScript). Without either
  // the font is a bitmap, of which stb_truetype can make nothing.
  bool outlines = false;
  bool compact = false;
  for (const FontTable& table : tables) {
    compact = compact || std::strcmp(table.tag, "CFF ") == 0;
    outlines = outlines || compact || std::strcmp(table.tag, "glyf") == 0;
  }
  if (!outlines) {
    return {};
  }
  QByteArray file;
  const auto count = static_cast<quint16>(tables.size());
  appendBigEndian<quint32>(file, compact ? 0x4F54544Fu : 0x00010000u);  // "OTTO" or TrueType 1.0
  appendBigEndian<quint16>(file, count);
  appendBigEndian<quint16>(file, 0);  // three fields to speed a binary search that nobody does
  appendBigEndian<quint16>(file, 0);
  appendBigEndian<quint16>(file, 0);
  auto offset = static_cast<quint32>(kHeaderBytes + kEntryBytes * count);
  for (const FontTable& table : tables) {
    file.append(table.tag, 4);
    appendBigEndian<quint32>(file, 0);
    appendBigEndian<quint32>(file, offset);
    appendBigEndian<quint32>(file, static_cast<quint32>(table.bytes.size()));
    offset += (static_cast<quint32>(table.bytes.size()) + 3) & ~3u;
  }
  for (const FontTable& table : tables) {
    file.append(table.bytes);
    // Tables begin at multiples of four, as the offsets above have it.
    file.append((4 - table.bytes.size() % 4) % 4, '\0');
  }
  return file;
}

}  // namespace lockstep::ui
