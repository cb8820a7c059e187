#pragma once

#include <QByteArray>
#include <QtEndian>
#include <vector>

namespace lockstep::ui {

/// One table of a font file: its tag of four letters, and its bytes.
struct FontTable {
  const char* tag;
  QByteArray bytes;
};

/// Puts tables, which stand in the order of their tags, together into the bytes of a font file.
/// Nothing without a table of outlines.
QByteArray assembled(const std::vector<FontTable>& tables);

/// Appends a number as font files hold them: the high byte first.
template <typename T>
void appendBigEndian(QByteArray& bytes, T value) {
  const T big = qToBigEndian(value);
  bytes.append(reinterpret_cast<const char*>(&big), sizeof big);
}

}  // namespace lockstep::ui
