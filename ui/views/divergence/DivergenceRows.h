#pragma once

#include <memory>

#include "ui/table/TableRows.h"
#include "ui/views/divergence/DivergenceFacts.h"

namespace lockstep::ui {

// The tables beside the canvases. Each keeps what it shows alive.

/// A row a call of a sequence, in the order of CallSequence::rows: number, iteration, verdict,
/// bucket, bytes, data type, and what each rank called.
std::shared_ptr<const TableRows> sequenceRows(std::shared_ptr<const DivergenceFacts> facts,
                                              std::size_t sequence);

/// A row a parameter: shape, in how many samples ranks differ, since when, and how far norms are
/// apart.
std::shared_ptr<const TableRows> parameterRows(std::shared_ptr<const DivergenceFacts> facts);

/// A row a finding of NaN or Inf in a rank's own gradients, in the order of
/// Divergence::findings.
std::shared_ptr<const TableRows> findingRows(std::shared_ptr<const DivergenceFacts> facts);

/// A row an iteration at which a strip has a value: loss, gradient norm and consensus distance of
/// each rank.
std::shared_ptr<const TableRows> stripRows(std::shared_ptr<const DivergenceFacts> facts);

}  // namespace lockstep::ui
