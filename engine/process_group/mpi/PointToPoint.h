#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "engine/process_group/mpi/Flight.h"
#include "engine/process_group/mpi/Mpi.h"
#include "engine/process_group/mpi/Runtime.h"
#include "engine/process_group/operation/Matching.h"

namespace lockstep::process_group::mpi {

class Dispatcher;

// Note [Send and recv]
// MPI matches by source and tag, but its tags end where it likes, and a receive of another size
// would be an error on one side only. So a message is announced by an offer (tag, size, dtype),
// which carries data of up to kInlineBytes itself, and the receiver matches offers with receives
// in the order of the calls. What does not fit is refused before a tensor is touched; what fits is
// answered, which ends the send, or asks it for the data. Data comes in the order of the answers,
// so that it needs no name. Offers are looked for while a receive is open, answers while a send is.

/// send and recv of a group. [mpi-thread]
class PointToPoint {
 public:
  using Transfer = Direct<Flight>;

  /// `comm` has the tags below 16 for this.
  PointToPoint(Dispatcher& dispatcher, MPI_Comm comm) : dispatcher_(dispatcher), comm_(comm) {}

  void add(Transfer transfer);
  /// Moves what can be moved; throws MpiError.
  void poll(Client::Activity& activity);
  /// Whether MPI has a part of its memory.
  [[nodiscard]] bool open() const;

 private:
  struct Offer {
    std::uint64_t id = 0;  ///< the sender's own
    Content content;
    std::uint64_t bytes = 0;
    std::uint32_t tag = 0;
  };
  enum class Verdict : std::int32_t { kTaken, kSend, kRefused };
  struct Answer {
    std::uint64_t id = 0;
    Content expected;
    Verdict verdict = Verdict::kTaken;
  };
  /// Bytes on their way from or to MPI.
  struct Parcel {
    std::vector<std::byte> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
    int source = -1;
  };
  struct Arrived {
    Offer offer;
    std::vector<std::byte> data;
  };
  using Transfers = Matching<Flight, Transfer, Arrived>;
  /// Data too large for an offer, on its way.
  struct Stream {
    Transfer transfer;
    std::vector<MPI_Request> requests;
  };

  void offer(Transfer transfer);
  void post(int peer, int tag, std::vector<std::byte> bytes);
  void probe(int tag, std::list<Parcel>& parcels, Client::Activity& activity);
  void take(Transfers::Match match);
  void handleAnswer(int source, const Answer& answer);
  void end(const Transfer& transfer, const std::optional<Failure>& refusal = std::nullopt);
  void stream(Transfer transfer, int peer, bool sends);

  Dispatcher& dispatcher_;
  const MPI_Comm comm_;
  Transfers transfers_;
  std::list<Parcel> sent_;
  std::list<Parcel> offersComing_;
  std::list<Parcel> answersComing_;
  std::list<Stream> streams_;
};

}  // namespace lockstep::process_group::mpi
