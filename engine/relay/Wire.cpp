#include "engine/relay/Wire.h"

#include <type_traits>
#include <utility>

#include "engine/base/ByteCodec.h"

namespace lockstep::relay {

template <typename M, typename T>
concept Is = std::is_same_v<std::remove_const_t<M>, T>;

// The fields of each message: Note [Bytes on a wire]. M is const when it is written.
template <typename A, typename M>
void fields(A& a, M& m) {
  if constexpr (Is<M, Hello>) {
    a(m.version, m.program, m.hostName, m.hostIdentity, m.address, m.pid, m.ranks, m.nodeRank,
      m.nodeSize, m.worldSize, m.environment);
  } else if constexpr (Is<M, Welcome>) {
    a(m.runId, m.experimentToml, m.headName, m.worldSize, m.hosts, m.storePort, m.storeToken,
      m.ranks, m.sameHost, m.lostAfterSeconds);
  } else if constexpr (Is<M, Refusal>) {
    a(m.exitCode, m.why);
  } else if constexpr (Is<M, Start>) {
    a(m.elsewhere);
  } else if constexpr (Is<M, Ping>) {
    a(m.id);
  } else if constexpr (Is<M, Pong>) {
    a(m.id, m.receivedNs, m.sentNs, m.firstReading.ticks, m.firstReading.ns, m.reading.ticks,
      m.reading.ns);
  } else if constexpr (Is<M, Words>) {
    a(m.step, m.phase, m.startupStage, m.operation, m.bucket, m.sequence, m.sinceTicks, m.finished,
      m.hook, m.error, m.fault, m.culprits, m.inputsEnded);
  } else if constexpr (Is<M, LanePart>) {
    a(m.lane, m.name, m.dropped, m.events);
  } else if constexpr (Is<M, RankPart>) {
    a(m.rank, m.suspended, m.sentBytes, m.receivedBytes, m.sentMessages, m.messagesDropped,
      m.traceDone, m.words, m.lanes, m.messages);
  } else if constexpr (Is<M, Batch>) {
    a(m.number, m.nowTicks, m.ranks);
  } else if constexpr (Is<M, RankStarted>) {
    a(m.rank, m.pid);
  } else if constexpr (Is<M, RankOutput>) {
    a(m.rank, m.isError, m.bytes);
  } else if constexpr (Is<M, RankEnded>) {
    a(m.rank, m.exitCode, m.signal);
  } else if constexpr (Is<M, Attach>) {
    a(m.rank, m.worldSize, m.pid);
  } else if constexpr (Is<M, Attached>) {
    a(m.rank, m.step, m.refusal);
  } else if constexpr (Is<M, CommandEnded>) {
    a(m.exitCode, m.signal);
  } else if constexpr (Is<M, StopAsked>) {
    a(m.who);
  } else if constexpr (Is<M, SendSignal>) {
    a(m.rank, m.signal);
  } else if constexpr (Is<M, SetCapture>) {
    a(m.enabled);
  } else if constexpr (Is<M, RequestTrace>) {
    a(m.request);
  } else if constexpr (Is<M, RelayFailed>) {
    a(m.exitCode, m.failure);
  } else {
    static_assert(Is<M, Farewell>);
  }
}

namespace {

template <typename Variant>
std::string encodeAny(const Variant& message) {
  std::string bytes;
  base::ByteWriter writer(bytes);
  // The kind is the place in the variant. New kinds go to its end, so that relays and heads of
  // different versions understand each other's Hello and Refusal.
  writer.put<std::uint8_t>(static_cast<std::uint8_t>(message.index()));
  std::visit([&](const auto& content) { fields(writer, content); }, message);
  return bytes;
}

template <typename Variant, std::size_t index = 0>
std::optional<Variant> decodeAny(std::size_t which, std::string_view bytes) {
  if constexpr (index == std::variant_size_v<Variant>) {
    return std::nullopt;
  } else if (which != index) {
    return decodeAny<Variant, index + 1>(which, bytes);
  } else {
    std::variant_alternative_t<index, Variant> content;
    base::ByteReader reader(bytes);
    fields(reader, content);
    // Bytes left over mean that the sender has other fields: nothing of such a message is used.
    return reader.atEnd() ? std::optional<Variant>(std::move(content)) : std::nullopt;
  }
}

template <typename Variant>
std::optional<Variant> decode(std::string_view bytes) {
  return bytes.empty() ? std::nullopt
                       : decodeAny<Variant>(static_cast<std::uint8_t>(bytes[0]), bytes.substr(1));
}

}  // namespace

std::string encode(const FromRelay& message) {
  return encodeAny(message);
}
std::string encode(const ToRelay& message) {
  return encodeAny(message);
}
std::optional<FromRelay> decodeFromRelay(std::string_view bytes) {
  return decode<FromRelay>(bytes);
}
std::optional<ToRelay> decodeToRelay(std::string_view bytes) {
  return decode<ToRelay>(bytes);
}

}  // namespace lockstep::relay
