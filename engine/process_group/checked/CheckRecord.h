#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/process_group/Call.h"

namespace lockstep::process_group::checked {

/// What a rank tells the others about a call before its data moves: 64 bytes, sent as they are,
/// so all ranks run on machines of one byte order.
struct CheckRecord {
  std::uint32_t version = 1;
  std::uint8_t operation = 0;
  std::uint8_t reduce = 0;  ///< 0 for operations that do not reduce
  std::int8_t dtype = 0;    ///< of the first tensor
  std::uint8_t unused = 0;
  std::int32_t root = -1;
  std::uint32_t bucket = 0;
  std::uint32_t tensors = 0;
  std::uint32_t step = 0;  ///< not compared: a rank without inputs may stand still
  std::uint64_t sequence = 0;
  std::uint64_t elements = 0;  ///< of all tensors together; 0 for alltoall
  std::uint64_t layout = 0;    ///< hash over dtype and element count of each tensor
  std::uint64_t shapes = 0;    ///< hash over the sizes of each tensor
  /// alltoall: the hashes of what goes to each rank, less those of what is expected from each.
  /// Over all ranks they add up to 0 when every pair agrees.
  std::uint64_t splits = 0;
};
static_assert(sizeof(CheckRecord) == 64);

[[nodiscard]] CheckRecord makeRecord(const Call& call, int rank);

/// What of a call may differ between ranks, in the order of the comparison.
enum class Field {
  kNone,
  kVersion,
  kSequence,
  kOperation,
  kReduce,
  kRoot,
  kBucket,
  kTensorCount,
  kDtype,
  kElements,
  kDtypes,  ///< of a later tensor of the list
  kShape,
  kSplits,
};

/// Returns the first field in which the records, by rank, differ.
[[nodiscard]] Field firstDifference(const std::vector<CheckRecord>& records);

/// Whether the records do not hold all that is to be told of a difference in this field.
[[nodiscard]] bool needsDetails(Field field);

/// Returns what did not fit a record, "float [10, 3], float [3] (cpu)", at most `limit` bytes long.
[[nodiscard]] std::string details(Field field, const Call& call,
                                  const std::vector<at::Tensor>& tensors, std::size_t limit);

/// Says in a sentence what differs, with all values and all ranks: "the ranks do not make the
/// same call: the reduce operation is sum on ranks 0, 2 and max on rank 1"; and where it may be in
/// the tensors, dtype, shape and device of each: "the number of elements is 6 on rank 0 and 7 on
/// rank 1; the tensors are float [2, 3] (cpu) on rank 0 and float [7] (cpu) on rank 1". `details`
/// are the ranks' where needsDetails(), else empty.
[[nodiscard]] std::string describeDifference(Field field, const std::vector<CheckRecord>& records,
                                             const std::vector<std::string>& details);

/// The ranks whose value differs from that of most; all where no value has a majority.
[[nodiscard]] std::vector<int> differingRanks(Field field, const std::vector<CheckRecord>& records,
                                              const std::vector<std::string>& details);

/// The first rank whose value differs from that of `rank`, or -1.
[[nodiscard]] int differingPeer(Field field, const std::vector<CheckRecord>& records,
                                const std::vector<std::string>& details, int rank);

}  // namespace lockstep::process_group::checked
