#pragma once

#include <memory>

#include "ui/table/TableRows.h"
#include "ui/views/overlap/BucketContent.h"
#include "ui/views/overlap/OverlapContent.h"
#include "ui/views/overlap/OverlapScene.h"

namespace lockstep::ui {

// The tables over the overlap view's content; times are ms with three decimals, the same in every
// locale. Null: no rows.

/// A row a step and rank, in the order of OverlapContent::steps.
std::shared_ptr<const TableRows> overlapSteps(std::shared_ptr<const OverlapContent> content);

/// A row a cause of exposed time, over all ranks, in the order of OverlapContent::reasons.
std::shared_ptr<const TableRows> overlapCauses(std::shared_ptr<const OverlapContent> content);

/// A row a rank, of its medians; and another with the warm-up in them.
std::shared_ptr<const TableRows> overlapRanks(std::shared_ptr<const OverlapContent> content);

/// A row a cell of rank by bucket, rank by rank: rank, bucket, all figures, and how many iterations
/// were measured.
std::shared_ptr<const TableRows> bucketCells(std::shared_ptr<const BucketContent> content,
                                             const CellChoice& choice);

}  // namespace lockstep::ui
