#include "ui/canvas/FontFile.h"

#include <QRawFont>
#include <QtEndian>
#include <array>
#include <vector>

namespace lockstep::ui {
namespace {

// What stb_truetype reads, in the order of the directory: by name.
constexpr std::array<const char*, 12> kTables{"CFF ", "GPOS", "OS/2", "cmap", "glyf", "head",
                                              "hhea", "hmtx", "kern", "loca", "maxp", "post"};
constexpr qsizetype kHeaderBytes = 12;
constexpr qsizetype kEntryBytes = 16;

template <typename T>
void append(QByteArray& bytes, T value) {
  const T big = qToBigEndian(value);
  bytes.append(reinterpret_cast<const char*>(&big), sizeof big);
}

}  // namespace

// The layout is the "font directory" of the OpenType specification: a header, one entry a
// table (tag, checksum, offset, length), the tables at multiples of four. Checksums are not
// looked at by readers of ours and stay zero.
QByteArray fontFile(const QFont& font) {
  const QRawFont raw = QRawFont::fromFont(font);
  struct Table {
    const char* tag;
    QByteArray bytes;
  };
  std::vector<Table> tables;
  // Outlines stand in one of two tables: "glyf" (TrueType) or "CFF " (PostScript). Without either
  // the font is a bitmap, of which stb_truetype can make nothing.
  bool outlines = false;
  bool compact = false;
  for (const char* tag : kTables) {
    QByteArray bytes = raw.isValid() ? raw.fontTable(tag) : QByteArray();
    if (!bytes.isEmpty()) {
      compact = compact || qstrcmp(tag, "CFF ") == 0;
      outlines = outlines || compact || qstrcmp(tag, "glyf") == 0;
      tables.push_back({tag, std::move(bytes)});
    }
  }
  if (!outlines) {
    return {};
  }
  QByteArray file;
  const auto count = static_cast<quint16>(tables.size());
  append<quint32>(file, compact ? 0x4F54544Fu : 0x00010000u);  // "OTTO" or TrueType 1.0
  append<quint16>(file, count);
  append<quint16>(file, 0);  // three fields to speed a binary search that nobody does
  append<quint16>(file, 0);
  append<quint16>(file, 0);
  auto offset = static_cast<quint32>(kHeaderBytes + kEntryBytes * count);
  for (const Table& table : tables) {
    file.append(table.tag, 4);
    append<quint32>(file, 0);
    append<quint32>(file, offset);
    append<quint32>(file, static_cast<quint32>(table.bytes.size()));
    offset += (static_cast<quint32>(table.bytes.size()) + 3) & ~3u;
  }
  for (const Table& table : tables) {
    file.append(table.bytes);
    // Tables begin at multiples of four, as the offsets above have it.
    file.append((4 - table.bytes.size() % 4) % 4, '\0');
  }
  return file;
}

}  // namespace lockstep::ui
