#include "ui/canvas/FontFile.h"

#include <QRawFont>
#include <array>

#include "ui/canvas/FontTables.h"

namespace lockstep::ui {
namespace {

// What stb_truetype reads, in the order of the directory: by name.
constexpr std::array<const char*, 12> kTables{"CFF ", "GPOS", "OS/2", "cmap", "glyf", "head",
                                              "hhea", "hmtx", "kern", "loca", "maxp", "post"};

}  // namespace

QByteArray fontFile(const QFont& font) {
  const QRawFont raw = QRawFont::fromFont(font);
  std::vector<FontTable> tables;
  for (const char* tag : kTables) {
    QByteArray bytes = raw.isValid() ? raw.fontTable(tag) : QByteArray();
    if (!bytes.isEmpty()) {
      tables.push_back({tag, std::move(bytes)});
    }
  }
  return assembled(tables);
}

}  // namespace lockstep::ui
