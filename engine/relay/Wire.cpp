#include "engine/relay/Wire.h"

#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

namespace lockstep::relay {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers travel as they lie in memory");

template <typename T>
concept Plain = std::is_trivially_copyable_v<T>;

/// Appends fields to a text.
class Writer {
 public:
  template <typename... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  template <Plain T>
  void put(const T& value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void put(const std::string& value) {
    put(static_cast<std::uint32_t>(value.size()));
    text_ += value;
  }
  template <Plain T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    put(value.value_or(T{}));
  }
  template <typename T>
  void put(const std::vector<T>& values) {
    put(static_cast<std::uint32_t>(values.size()));
    if constexpr (Plain<T>) {
      text_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    } else {
      for (const T& value : values) {
        put(value);
      }
    }
  }
  void put(const std::map<std::string, std::string>& values) {
    put(static_cast<std::uint32_t>(values.size()));
    for (const auto& [key, value] : values) {
      put(key);
      put(value);
    }
  }
  void put(const Words& value);
  void put(const LanePart& value);
  void put(const RankPart& value);

  std::string text_;
};

/// Takes fields from a text in which nothing can be relied on.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  template <typename... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  [[nodiscard]] bool sound() const { return sound_ && text_.empty(); }

 private:
  /// Returns whether `bytes` more are there; else all that follows is unsound.
  bool has(std::size_t bytes) {
    sound_ = sound_ && text_.size() >= bytes;
    return sound_;
  }
  void copy(void* to, std::size_t bytes) {
    if (bytes > 0) {
      std::memcpy(to, text_.data(), bytes);
    }
    text_.remove_prefix(bytes);
  }
  template <Plain T>
  void get(T& value) {
    if (has(sizeof(value))) {
      copy(&value, sizeof(value));
    }
  }
  void get(bool& value) {
    std::uint8_t byte = 0;
    get(byte);
    value = byte != 0;
  }
  std::uint32_t getCount() {
    std::uint32_t count = 0;
    get(count);
    return count;
  }
  void get(std::string& value) {
    const std::uint32_t count = getCount();
    if (has(count)) {
      value.resize(count);
      copy(value.data(), count);
    }
  }
  template <Plain T>
  void get(std::optional<T>& value) {
    bool there = false;
    T content{};
    get(there);
    get(content);
    value = there ? std::optional<T>(content) : std::nullopt;
  }
  template <typename T>
  void get(std::vector<T>& values) {
    const std::uint32_t count = getCount();
    if constexpr (Plain<T>) {
      if (has(std::size_t{count} * sizeof(T))) {
        values.resize(count);
        copy(values.data(), std::size_t{count} * sizeof(T));
      }
    } else {
      for (std::uint32_t i = 0; i < count && sound_; ++i) {
        get(values.emplace_back());
      }
    }
  }
  void get(std::map<std::string, std::string>& values) {
    const std::uint32_t count = getCount();
    for (std::uint32_t i = 0; i < count && sound_; ++i) {
      std::string key;
      get(key);
      get(values[std::move(key)]);
    }
  }
  void get(Words& value);
  void get(LanePart& value);
  void get(RankPart& value);

  std::string_view text_;
  bool sound_ = true;
};

// The fields of each message, once for both directions: M is the message, const when it is written.
template <typename M, typename T>
concept Is = std::is_same_v<std::remove_const_t<M>, T>;

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

void Writer::put(const Words& value) {
  fields(*this, value);
}
void Writer::put(const LanePart& value) {
  fields(*this, value);
}
void Writer::put(const RankPart& value) {
  fields(*this, value);
}
void Reader::get(Words& value) {
  fields(*this, value);
}
void Reader::get(LanePart& value) {
  fields(*this, value);
}
void Reader::get(RankPart& value) {
  fields(*this, value);
}

template <typename Variant>
std::string encodeAny(const Variant& message) {
  Writer writer;
  writer(static_cast<std::uint8_t>(message.index()));
  std::visit([&](const auto& content) { fields(writer, content); }, message);
  return writer.take();
}

template <typename Variant, std::size_t index = 0>
std::optional<Variant> decodeAny(std::size_t which, std::string_view bytes) {
  if constexpr (index == std::variant_size_v<Variant>) {
    return std::nullopt;
  } else if (which != index) {
    return decodeAny<Variant, index + 1>(which, bytes);
  } else {
    std::variant_alternative_t<index, Variant> content;
    Reader reader(bytes);
    fields(reader, content);
    return reader.sound() ? std::optional<Variant>(std::move(content)) : std::nullopt;
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
