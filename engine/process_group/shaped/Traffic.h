#pragma once

#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "engine/cost/LinkModel.h"
#include "engine/process_group/Request.h"
#include "engine/process_group/WorkState.h"
#include "engine/process_group/shaped/ArrivalBoard.h"
#include "engine/process_group/shaped/LinkClock.h"
#include "engine/process_group/shaped/LinkJitter.h"
#include "engine/trace/Tracer.h"

namespace lockstep::process_group {

/// The operations of one ShapedGroup from their call to the end the link gives them.
/// Lives as long as the last of them. [any-thread]
class Traffic : public std::enable_shared_from_this<Traffic> {
 public:
  struct Parts {
    std::string group;
    std::uint8_t groupNumber = 0;
    int rank = 0;
    int size = 1;
    cost::LinkModel model;
    LinkJitter jitter;
    std::size_t inFlight = 1;  ///< as cost::LinkOptions
    std::shared_ptr<LinkClock> clock;
    std::unique_ptr<ArrivalBoard> board;  ///< null: no other rank's arrival is known
    trace::Lane* lane = nullptr;          ///< may be null
  };
  explicit Traffic(Parts parts);

  /// Makes the call on `inner` and returns the Work of the shaped one. Throws what that throws.
  ProcessGroup::WorkPtr submit(Request request, ProcessGroup& inner);

  /// Fails whatever waits for the link or for its turn on it.
  void abort(const std::string& reason);

  /// Ends at once what waits for the link and whatever comes later; records nothing any more.
  void close();

 private:
  struct Transfer;
  using TransferPtr = std::shared_ptr<Transfer>;

  static std::exception_ptr aborted(const Transfer& transfer, const std::string& reason);
  [[nodiscard]] std::vector<int> awaited(const Call& call) const;
  [[nodiscard]] std::int64_t arrival(const Transfer& transfer) const;
  [[nodiscard]] cost::LinkModel::Cost costOf(const Transfer& transfer) const;
  void abortOne(Transfer& transfer);
  void innerDone(const TransferPtr& transfer);
  void advance(std::vector<TransferPtr>& broken);
  void carry(const TransferPtr& transfer, std::vector<TransferPtr>& broken);
  void end(const TransferPtr& transfer);

  Parts parts_;
  std::mutex mutex_;
  std::uint64_t calls_ = 0;           // collectives
  std::uint64_t pairCalls_ = 0;       // sends and receives
  std::deque<TransferPtr> queue_;     // collectives in call order, until they get the link
  std::deque<std::int64_t> ends_;     // of the last cost::LinkOptions::inFlight of them
  std::set<TransferPtr> travelling_;  // until their end
  bool closed_ = false;
};

}  // namespace lockstep::process_group
