#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::glossary {

// Note [One text for each term]
// What a term means stands here once: the command line prints it (`lockstep glossary`), the studio
// shows it under the pointer and in its help. An entry that stands for a figure has a formula and a
// unit; the formula is that of the code which computes the figure, and the entry is changed with
// it.

/// What one term means.
struct Entry {
  std::string_view term;                     ///< as people write it: "exposed time"
  std::vector<std::string_view> alsoCalled;  ///< other words for it: headings, abbreviations
  std::string_view meaning;                  ///< a plain sentence or two
  std::string_view formula;                  ///< of a figure; empty: it is none
  std::string_view unit;                     ///< of a figure: "ms a step"; "none" of a plain number
  std::string_view seen;                     ///< where: views, panels, commands
  std::vector<std::string_view> related;     ///< terms of other entries
};

/// All of them, in alphabetical order.
const std::vector<Entry>& entries();

/// The entry that `text` names, as its term or by another word for it; case does not count. A
/// heading may carry a unit or a place beside its term: "Exposed ms", "Wire bytes a step", "Ready
/// ms, rank 1", "exposed on rank 0 [ms]". Null: there is none.
const Entry* find(std::string_view text);

/// The term or other word that is most like `text`; empty: none is near.
std::string nearest(std::string_view text);

/// A fact about an entry beside its meaning: "Formula", "Unit", "Seen in", "Also called", "See
/// also".
struct Line {
  std::string_view label;
  std::string text;
};
/// Those that the entry has, in this order.
std::vector<Line> linesOf(const Entry& entry);

}  // namespace lockstep::glossary
