#pragma once

#include <QHash>
#include <QString>
#include <cstdint>
#include <map>
#include <vector>

#include "engine/export/StatisticsTable.h"
#include "ui/model/SpanNames.h"

namespace lockstep::ui {

/// What spans are counted together by.
enum class GroupBy { kName, kNameAndBucket, kBucket, kHook, kRank, kPhase, kAll };
inline constexpr int kGroupings = 7;

QString titleOf(
    GroupBy by);  ///< "Name", "Step phase": a column's title; kAll: by rank, name, bucket
QString meaningOf(GroupBy by);  ///< a sentence

/// Gives spans to groups, which it makes as they come. [any-thread], one at a time.
class SpanGroups {
 public:
  struct Group {
    QString name;
    QString query;               ///< asks for its spans (SpanQuery); empty: no query can
    exports::StatisticsKey key;  ///< what its spans have in common, for a file
  };

  explicit SpanGroups(GroupBy by) : by_(by) {}

  /// The group of a span; analysis::kNoGroup when it is in none. By phase the answer is known
  /// when all phases of its rank are: see `phaseOf`.
  std::uint32_t groupOf(const Span& span);

  /// Remembers a span that may be a phase of the step.
  void notePhase(const Span& span);
  /// No more phases come.
  void endPhases();
  /// The phase that a rank was in at a time.
  std::uint32_t phaseOf(int rank, double ns);

  [[nodiscard]] const std::vector<Group>& all() const { return groups_; }

 private:
  struct Phase {
    double startNs = 0;
    double endNs = 0;
    std::uint32_t group = 0;
  };

  std::uint32_t group(const QString& name, const QString& query, const exports::StatisticsKey& key);

  GroupBy by_;
  std::vector<Group> groups_;
  QHash<QString, std::uint32_t> known_;
  QHash<std::uint64_t, std::uint32_t> quick_;  // by what a name is made of
  std::map<int, std::vector<Phase>> phases_;   // by rank
};

}  // namespace lockstep::ui
