#include "engine/process_group/shared_memory/Agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "engine/base/NumberText.h"
#include "engine/process_group/Majority.h"
#include "engine/process_group/Mismatch.h"

namespace lockstep::process_group::shared_memory {
namespace {

// Enough of it to describe: layout and shapes stand in the fingerprint alone.
Call callOf(const Place& place) {
  Call call;
  call.operation = static_cast<trace::Operation>(place.operation);
  call.reduce = static_cast<ReduceOp>(place.reduce);
  call.root = place.root;
  call.dtype = static_cast<c10::ScalarType>(place.dtype);
  call.elements = place.elements;
  call.bytes = place.bytes;
  call.tensors = place.tensors;
  return call;
}

// Bytes that a rank sends to another one, or expects from it, in an alltoall.
std::uint64_t part(const Board& board, std::uint64_t order, int rank, int other, bool expected) {
  const int index = other + (expected ? board.size() : 0);
  std::uint64_t bytes = 0;
  std::memcpy(&bytes,
              board.inlineArea(order, rank) + static_cast<std::size_t>(index) * sizeof(bytes),
              sizeof(bytes));
  return bytes;
}

std::string partMismatch(const Board& board, std::uint64_t order, int from, int to) {
  const std::uint64_t sent = part(board, order, from, to, false);
  const std::uint64_t expected = part(board, order, to, from, true);
  return sent == expected ? std::string() : unlikePartsText(from, sent, to, expected);
}

}  // namespace

std::uint64_t tableBytes(const Call& call, int size) {
  return call.operation == trace::Operation::kAlltoall
             ? 2 * sizeof(std::uint64_t) * static_cast<std::uint64_t>(size)
             : 0;
}

void writeCall(const Operation& operation, int rank, const Board& board) {
  const Call& call = operation.call;
  Place& place = board.place(operation.order(), rank);
  place.operation = static_cast<std::uint32_t>(call.operation);
  place.reduce = static_cast<std::uint32_t>(call.reduce);
  place.root = call.root;
  place.dtype = static_cast<std::uint32_t>(call.dtype);
  place.tensors = call.tensors;
  place.elements = call.elements;
  place.bytes = call.bytes;
  place.fingerprint = fingerprint(call);
  std::byte* area = board.inlineArea(operation.order(), rank);
  for (const std::vector<std::uint64_t>* parts : {&call.bytesTo, &call.bytesFrom}) {
    if (!parts->empty()) {
      std::memcpy(area, parts->data(), parts->size() * sizeof(std::uint64_t));
      area += parts->size() * sizeof(std::uint64_t);
    }
  }
}

std::vector<std::uint64_t> beginsFor(const Operation& operation, int rank, const Board& board) {
  std::vector<std::uint64_t> begins;
  for (int from = 0; from < board.size(); ++from) {
    std::uint64_t begin = 0;
    for (int to = 0; to < rank; ++to) {
      begin += part(board, operation.order(), from, to, false);
    }
    begins.push_back(begin);
  }
  return begins;
}

Failure mismatch(const Operation& operation, int rank, const Board& board) {
  const std::uint64_t order = operation.order();
  const std::uint64_t mine = fingerprint(operation.call);
  // Those that have come vote; with some still missing there may be no majority.
  std::vector<std::pair<int, std::uint64_t>> calls;
  for (int other = 0; other < board.size(); ++other) {
    if (other == rank || board.hasCome(order, other)) {
      calls.emplace_back(other, other == rank ? mine : board.place(order, other).fingerprint);
    }
  }
  for (int other = 0; other < board.size(); ++other) {
    if (other == rank || !board.hasCome(order, other)) {
      continue;
    }
    const Place& place = board.place(order, other);
    if (place.fingerprint != mine) {
      return {unlikeCallsText(rank, describe(operation.call), other, describe(callOf(place))), -1,
              CommErrorKind::kMismatch, outvoted(calls, board.size())};
    }
  }
  if (operation.call.operation != trace::Operation::kAlltoall) {
    return {};
  }
  // Of all pairs, so that all ranks come to the same end.
  for (int from = 0; from < board.size(); ++from) {
    for (int to = 0; to < board.size(); ++to) {
      if (from == to || !board.hasCome(order, from) || !board.hasCome(order, to)) {
        continue;
      }
      if (const std::string found = partMismatch(board, order, from, to); !found.empty()) {
        return {found, -1, CommErrorKind::kMismatch, {std::min(from, to), std::max(from, to)}};
      }
    }
  }
  return {};
}

Missing missing(const Operation& operation, int rank, const Board& board) {
  const std::uint64_t order = operation.order();
  std::vector<int> absent;
  std::vector<int> behind;
  std::uint32_t most = 0;
  for (int other = 0; other < board.size(); ++other) {
    if (board.hasCome(order, other)) {
      most = std::max(most, board.place(order, other).steps.load(std::memory_order_relaxed));
    } else if (other != rank) {
      absent.push_back(other);
    }
  }
  if (!absent.empty()) {
    return {fmt::format("waiting for {}, which {} not come to this operation",
                        base::ranksText(absent), absent.size() == 1 ? "has" : "have"),
            absent.front()};
  }
  // All have come: then it is a rank that has not taken the step that most have, or stopped with a
  // block.
  for (int other = 0; other < board.size(); ++other) {
    const Place& place = board.place(order, other);
    if (other != rank && board.hasCome(order, other) &&
        (place.steps.load(std::memory_order_relaxed) < most ||
         place.reducing.load(std::memory_order_relaxed) != 0)) {
      behind.push_back(other);
    }
  }
  if (!behind.empty()) {
    return {fmt::format("waiting for {}, which came to it and went no further",
                        base::ranksText(behind)),
            behind.front()};
  }
  return {};
}

}  // namespace lockstep::process_group::shared_memory
