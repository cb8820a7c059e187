#include "engine/process_group/mpi/Requests.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::process_group::mpi {
namespace {

// Elements of one call of MPI.
// MPI counts in int: 2^30 elements fit, whatever their size.
constexpr std::uint64_t kMost = std::uint64_t{1} << 30;

MPI_Datatype nativeType(c10::ScalarType dtype, bool wraps) {
  switch (dtype) {
    case c10::ScalarType::Float:
      return MPI_FLOAT;
    case c10::ScalarType::Double:
      return MPI_DOUBLE;
    case c10::ScalarType::Bool:
    case c10::ScalarType::Byte:
      return MPI_UINT8_T;
    // Overflow wraps round, which only unsigned types promise.
    case c10::ScalarType::Char:
      return wraps ? MPI_UINT8_T : MPI_INT8_T;
    case c10::ScalarType::Short:
      return wraps ? MPI_UINT16_T : MPI_INT16_T;
    case c10::ScalarType::Int:
      return wraps ? MPI_UINT32_T : MPI_INT32_T;
    case c10::ScalarType::Long:
      return wraps ? MPI_UINT64_T : MPI_INT64_T;
    default:
      return MPI_DATATYPE_NULL;
  }
}

MPI_Op nativeOp(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAverage:
      return MPI_SUM;
    case ReduceOp::kProduct:
      return MPI_PROD;
    case ReduceOp::kMin:
      return MPI_MIN;
    case ReduceOp::kMax:
      return MPI_MAX;
    case ReduceOp::kBitwiseAnd:
      return MPI_BAND;
    case ReduceOp::kBitwiseOr:
      return MPI_BOR;
    case ReduceOp::kBitwiseXor:
      return MPI_BXOR;
  }
  return MPI_OP_NULL;
}

}  // namespace

std::optional<NativeReduction> nativeReduction(c10::ScalarType dtype, ReduceOp op) {
  const bool orders = op == ReduceOp::kMin || op == ReduceOp::kMax;
  // MPI_MIN and MPI_MAX may drop a NaN (Note [What MPI reduces]).
  if (orders && c10::isFloatingType(dtype)) {
    return std::nullopt;
  }
  const MPI_Datatype type = nativeType(dtype, !orders);
  if (type == MPI_DATATYPE_NULL) {
    return std::nullopt;
  }
  return NativeReduction{type, nativeOp(op), c10::elementSize(dtype)};
}

std::vector<std::pair<std::uint64_t, int>> mpiPieces(std::uint64_t total, std::uint64_t most) {
  std::vector<std::pair<std::uint64_t, int>> pieces;
  for (std::uint64_t begin = 0; begin < total; begin += most) {
    pieces.emplace_back(begin, static_cast<int>(std::min(most, total - begin)));
  }
  return pieces;
}

MPI_Request* Requests::add(int peer, bool sending, int bytes) {
  // The vector may move as it grows: a request is a handle, whose address MPI does not keep.
  requests_.push_back(MPI_REQUEST_NULL);
  expected_.push_back(Expected{peer, sending, bytes});
  return &requests_.back();
}

void Requests::send(int peer, const void* data, std::size_t bytes) {
  for (const auto& [begin, count] : mpiPieces(bytes, kMost)) {
    check(MPI_Isend(static_cast<const std::byte*>(data) + begin, count, MPI_BYTE, peer, tag_, comm_,
                    add(peer, true, count)),
          "MPI_Isend");
  }
}

void Requests::receive(int peer, void* data, std::size_t bytes) {
  for (const auto& [begin, count] : mpiPieces(bytes, kMost)) {
    check(MPI_Irecv(static_cast<std::byte*>(data) + begin, count, MPI_BYTE, peer, tag_, comm_,
                    add(peer, false, count)),
          "MPI_Irecv");
  }
}

void Requests::broadcast(Block block, int root) {
  for (const auto& [begin, count] : mpiPieces(block.bytes, kMost)) {
    check(MPI_Ibcast(block.data + begin, count, MPI_BYTE, root, comm_, add(kEverybody, false, 0)),
          "MPI_Ibcast");
  }
}

void Requests::allreduce(Block block, const NativeReduction& how) {
  for (const auto& [begin, count] : mpiPieces(block.bytes / how.elementSize, kMost)) {
    check(MPI_Iallreduce(MPI_IN_PLACE, block.data + begin * how.elementSize, count, how.type,
                         how.op, comm_, add(kEverybody, false, 0)),
          "MPI_Iallreduce");
  }
}

void Requests::reduce(Block block, const NativeReduction& how, int root, bool atRoot) {
  for (const auto& [begin, count] : mpiPieces(block.bytes / how.elementSize, kMost)) {
    std::byte* const data = block.data + begin * how.elementSize;
    // MPI wants MPI_IN_PLACE as the send buffer of a root that reduces in place.
    check(MPI_Ireduce(atRoot ? MPI_IN_PLACE : data, atRoot ? data : nullptr, count, how.type,
                      how.op, root, comm_, add(kEverybody, false, 0)),
          "MPI_Ireduce");
  }
}

void Requests::barrier() {
  check(MPI_Ibarrier(barriers_, add(kEverybody, false, 0)), "MPI_Ibarrier");
}

bool Requests::test(bool& moved) {
  const int open = static_cast<int>(requests_.size());
  if (open == 0) {
    return true;
  }
  indices_.resize(requests_.size());
  statuses_.resize(requests_.size());
  int done = 0;
  const int code = MPI_Testsome(open, requests_.data(), &done, indices_.data(), statuses_.data());
  // All were done before, or there never were any.
  if (done == MPI_UNDEFINED) {
    return true;
  }
  moved = moved || done > 0;
  // Which of those that ended were what this rank expected: MPI reports a longer message as an
  // error, and a shorter one only by its count.
  for (int i = 0; i < done; ++i) {
    const Expected& expected =
        expected_[static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)])];
    MPI_Status& status = statuses_[static_cast<std::size_t>(i)];
    if (code == MPI_ERR_IN_STATUS) {
      int kind = MPI_SUCCESS;
      MPI_Error_class(status.MPI_ERROR, &kind);
      if (kind == MPI_ERR_TRUNCATE && expected.peer >= 0) {
        throw Mismatch{expected.peer,
                       fmt::format("rank {} sends more than the {} bytes that this rank expects",
                                   expected.peer, expected.bytes)};
      }
      check(status.MPI_ERROR, "MPI_Testsome");
    }
    if (expected.peer >= 0 && !expected.sending) {
      int bytes = 0;
      check(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
      if (bytes != expected.bytes) {
        throw Mismatch{expected.peer, fmt::format("rank {} sends {} bytes, this rank expects {}",
                                                  expected.peer, bytes, expected.bytes)};
      }
    }
  }
  // Statuses above were looked at first, since they say more.
  if (code != MPI_ERR_IN_STATUS) {
    check(code, "MPI_Testsome");
  }
  return std::all_of(requests_.begin(), requests_.end(),
                     [](MPI_Request request) { return request == MPI_REQUEST_NULL; });
}

void Requests::tell(Flight& flight) const {
  // Receives first: who waits for data names the rank it comes from, and sends often wait for their
  // receives.
  for (const bool sending : {false, true}) {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i] != MPI_REQUEST_NULL && expected_[i].sending == sending) {
        const int peer = expected_[i].peer;
        flight.setWaiting(peer == kEverybody ? Flight::Waiting::kAll
                          : sending          ? Flight::Waiting::kTaken
                                             : Flight::Waiting::kData,
                          peer);
        return;
      }
    }
  }
}

}  // namespace lockstep::process_group::mpi
