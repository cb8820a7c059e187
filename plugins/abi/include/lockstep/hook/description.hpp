#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lockstep/hook/buffers.hpp>

namespace lockstep::plugin {

class Value {
 public:
  explicit Value(const lockstep_value* raw) : raw_(raw) {}
  [[nodiscard]] std::string_view key() const { return raw_->key; }
  [[nodiscard]] double real() const { return raw_->number; }
  [[nodiscard]] std::int64_t integer() const { return static_cast<std::int64_t>(raw_->number); }
  /// An integer of which none is below 0.
  [[nodiscard]] std::uint64_t count() const { return static_cast<std::uint64_t>(raw_->number); }
  [[nodiscard]] bool boolean() const { return raw_->number != 0; }
  [[nodiscard]] std::string_view text() const { return raw_->text; }

 private:
  const lockstep_value* raw_;
};

/// The values of a hook's parameters: one for each that it describes.
class Values {
 public:
  Values(const lockstep_value* values, std::uint32_t count) : values_(values), count_(count) {}
  [[nodiscard]] Value operator[](std::string_view key) const {
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (key == values_[i].key) {
        return Value(&values_[i]);
      }
    }
    throw Error(LOCKSTEP_E_INTERNAL, "the host gave no value for " + std::string(key));
  }

 private:
  const lockstep_value* values_;
  std::uint32_t count_;
};

/// What a hook is, said once for the form, the checker and the hook itself. The strings given must
/// be literals.
class Description {
 public:
  Description(const char* id, const char* name, const char* version, const char* summary) {
    info_.struct_size = sizeof info_;
    info_.id = id;
    info_.name = name;
    info_.version = version;
    info_.summary = summary;
    info_.vendor = "";
    info_.dtypes = 1U << LOCKSTEP_F32;
    info_.devices = 1U << LOCKSTEP_CPU;
    info_.mean_error = -1;
  }
  Description(Description&&) = default;
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;

  Description&& vendor(const char* text) && {
    info_.vendor = text;
    return std::move(*this);
  }
  Description&& caps(std::uint32_t caps) && {
    info_.caps = caps;
    return std::move(*this);
  }
  Description&& dtypes(std::initializer_list<std::int32_t> dtypes) && {
    info_.dtypes = 0;
    for (const std::int32_t dtype : dtypes) {
      info_.dtypes |= 1U << dtype;
    }
    return std::move(*this);
  }
  /// LOCKSTEP_CPU alone, if not said.
  Description&& devices(std::initializer_list<std::int32_t> devices) && {
    info_.devices = 0;
    for (const std::int32_t device : devices) {
      info_.devices |= 1U << device;
    }
    return std::move(*this);
  }
  /// See lockstep_hook_info::mean_error.
  Description&& meanError(double error) && {
    info_.mean_error = error;
    return std::move(*this);
  }

  /// A parameter; designated initialisers name its members: .boolean({.key = "masking", ...}). Of
  /// a number the range alone: .integer("rank", "Rank", {.initial = 1, .min = 1, .max = 64},
  /// "...").
  struct Number {
    const char *key, *label, *help;
    double initial, min, max;
    const char* unit = nullptr;
    std::uint32_t flags = 0;
  };
  struct Switch {
    const char *key, *label, *help;
    bool initial;
    std::uint32_t flags = 0;
  };
  struct Choice {
    const char *key, *label, *help, *initial;
    std::vector<const char*> choices;
    std::uint32_t flags = 0;
  };
  /// What a number begins with and may be; both ends are allowed.
  struct Range {
    double initial, min, max;
    const char* unit = nullptr;
    std::uint32_t flags = 0;
  };
  Description&& integer(const char* key, const char* label, const Range& range,
                        const char* help) && {
    return std::move(*this).integer(numberOf(key, label, range, help));
  }
  Description&& real(const char* key, const char* label, const Range& range, const char* help) && {
    return std::move(*this).real(numberOf(key, label, range, help));
  }
  Description&& integer(const Number& n) && { return std::move(*this).number(n, LOCKSTEP_INT); }
  Description&& real(const Number& n) && { return std::move(*this).number(n, LOCKSTEP_REAL); }
  Description&& boolean(const Switch& s) && {
    return std::move(*this).add({sizeof(lockstep_param), s.key, s.label, s.help, nullptr,
                                 LOCKSTEP_BOOL, s.flags, 0, 1, s.initial ? 1.0 : 0.0, nullptr,
                                 nullptr});
  }
  Description&& choice(const Choice& c) && {
    auto& list = choices_.emplace_back(c.choices);
    list.push_back(nullptr);
    return std::move(*this).add({sizeof(lockstep_param), c.key, c.label, c.help, nullptr,
                                 LOCKSTEP_CHOICE, c.flags, 0, 0, 0, c.initial, list.data()});
  }

  /// Lives as long as the description.
  [[nodiscard]] const lockstep_hook_info* info() const { return &info_; }

 private:
  static Number numberOf(const char* key, const char* label, const Range& range, const char* help) {
    return {key, label, help, range.initial, range.min, range.max, range.unit, range.flags};
  }
  Description&& number(const Number& n, std::int32_t type) && {
    return std::move(*this).add({sizeof(lockstep_param), n.key, n.label, n.help, n.unit, type,
                                 n.flags, n.min, n.max, n.initial, nullptr, nullptr});
  }
  Description&& add(const lockstep_param& param) && {
    pointers_.push_back(&params_.emplace_back(param));
    info_.params = pointers_.data();
    info_.param_count = static_cast<std::uint32_t>(pointers_.size());
    return std::move(*this);
  }

  lockstep_hook_info info_{};
  std::deque<lockstep_param> params_;
  std::deque<std::vector<const char*>> choices_;
  std::vector<const lockstep_param*> pointers_;
};

}  // namespace lockstep::plugin
