// The JSON of a safetensors header.
//
//   {"__metadata__":{"format":"pt"},
//    "name":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},...}<spaces>
//
// It is read as a stream of events, because a header may have a million tensors: no tree is built,
// no key is searched for, and brackets nested too deep are refused at the first one too many.
#include <algorithm>
#include <array>

#include "core/base/utf8.h"
#include "core/json/json_string.h"
#include "formats/json_events.h"
#include "formats/safetensors.h"

namespace ckpt {
namespace {

using DtypeName = std::array<char, 16>;

// The names of types that the command line has, in capitals.
constexpr auto kDtypeNames = [] {
  std::array<DtypeName, kNumberDtypeCount> out{};
  for (size_t i = 0; i < out.size(); ++i) {
    std::ranges::transform(kDtypeInfos[i].name, out[i].begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
  }
  return out;
}();

constexpr uint64_t kLengthBytes = sizeof(uint64_t);  // before the JSON

class HeaderEvents final : public JsonEvents {
 public:
  SafetensorsHeader header;

  bool open(char bracket, size_t) override {
    if (is_skipping_) return ++skipped_depth_ > 0;
    return bracket == '{' ? open_object() : open_array();
  }

  bool close(size_t) override {
    if (is_skipping_) {
      is_skipping_ = --skipped_depth_ > 0;
      return true;
    }
    switch (place_) {
      case Place::kRoot:
        place_ = Place::kEnd;
        return true;
      case Place::kShapeNumbers:
      case Place::kOffsetNumbers:
        place_ = Place::kTensor;
        return true;
      default:
        if (place_ == Place::kTensor && (fields_ != kAll || offsets_ != 2)) {
          return refuse(fmt::format("{}: expected dtype, shape and two data_offsets", here()));
        }
        place_ = Place::kRoot;
        return true;
    }
  }

  bool key(std::string_view spelling) override {
    if (is_skipping_) return true;
    key_ = json_unquoted(spelling);
    if (place_ != Place::kTensor) return true;
    const unsigned field = key_ == "dtype"          ? kDtype
                           : key_ == "shape"        ? kShape
                           : key_ == "data_offsets" ? kOffsets
                                                    : 0;
    is_skipping_ = field == 0;  // as the reference library does
    fields_ |= field;
    return true;
  }

  bool scalar(std::string_view spelling) override {
    if (is_skipping_) {
      is_skipping_ = skipped_depth_ > 0;
      return true;
    }
    // mx.save_safetensors writes null if it has no metadata.
    if (place_ == Place::kRoot && key_ == "__metadata__" && spelling == "null") return true;
    const bool is_text = spelling[0] == '"';
    if (place_ == Place::kShapeNumbers || (place_ == Place::kOffsetNumbers && offsets_ < 2)) {
      return number(spelling);
    }
    if (is_text && place_ == Place::kMetadata) {
      header.metadata.entries.push_back(
          {std::move(key_), MetaValue::text(json_unquoted(spelling))});
      return true;
    }
    if (is_text && place_ == Place::kTensor && key_ == "dtype") return dtype(spelling);
    return refuse(fmt::format("{}: {} in an unexpected place", here(), described(spelling)));
  }

 private:
  enum class Place { kStart, kRoot, kMetadata, kTensor, kShapeNumbers, kOffsetNumbers, kEnd };
  static constexpr unsigned kDtype = 1, kShape = 2, kOffsets = 4, kAll = 7;

  bool open_object() {
    if (place_ == Place::kStart) {
      place_ = Place::kRoot;
    } else if (place_ == Place::kRoot && key_ == "__metadata__") {
      place_ = Place::kMetadata;
    } else if (place_ == Place::kRoot) {
      if (header.entries.size() == kMaxTensors) {
        return refuse(fmt::format("more than {} tensors", kMaxTensors));
      }
      if (key_.size() > kMaxNameBytes) {
        return refuse(fmt::format("tensor '{}': a name of {} bytes; expected at most {}",
                                  shorten(key_), key_.size(), kMaxNameBytes));
      }
      header.entries.emplace_back().name = std::move(key_);
      place_ = Place::kTensor;
      fields_ = offsets_ = 0;
    } else {
      return refuse(fmt::format("{}: an object in an unexpected place", here()));
    }
    return true;
  }

  bool open_array() {
    if (place_ == Place::kTensor && key_ == "shape") {
      place_ = Place::kShapeNumbers;
    } else if (place_ == Place::kTensor && key_ == "data_offsets") {
      place_ = Place::kOffsetNumbers;
    } else {
      return refuse(fmt::format("{}: an array in an unexpected place", here()));
    }
    return true;
  }

  bool number(std::string_view spelling) {
    const auto value = whole_number(spelling);
    if (!value) {
      return refuse(fmt::format("{}: {}; expected a whole number from 0 to 2^64 - 1", here(),
                                described(spelling)));
    }
    auto& entry = header.entries.back();
    if (place_ == Place::kOffsetNumbers) {
      (offsets_++ == 0 ? entry.begin : entry.end) = *value;
      return true;
    }
    if (entry.shape.size() == kMaxDimensions) {
      return refuse(fmt::format("{}: more than {} dimensions", here(), kMaxDimensions));
    }
    entry.shape.push_back(*value);
    return true;
  }

  bool dtype(std::string_view spelling) {
    const std::string text = json_unquoted(spelling);
    const auto dtype = safetensors_dtype(text);
    if (!dtype) return refuse(fmt::format("{}: unknown dtype '{}'", here(), shorten(text)));
    header.entries.back().dtype = *dtype;
    return true;
  }

  std::string here() const {
    if (place_ == Place::kStart || place_ == Place::kRoot) return "the top level";
    if (place_ == Place::kMetadata) return "__metadata__";
    return fmt::format("tensor '{}'", shorten(header.entries.back().name));
  }

  Place place_ = Place::kStart;
  std::string key_;
  unsigned fields_ = 0, offsets_ = 0;
  bool is_skipping_ = false;  // the value of a field that the format does not have
  size_t skipped_depth_ = 0;
};

}  // namespace

std::optional<std::string_view> safetensors_name(Dtype dtype) {
  if (is_block_type(dtype)) return std::nullopt;
  return kDtypeNames[static_cast<size_t>(dtype)].data();
}

std::optional<Dtype> safetensors_dtype(std::string_view name) {
  for (size_t i = 0; i < kNumberDtypeCount; ++i) {
    if (name == kDtypeNames[i].data()) return static_cast<Dtype>(i);
  }
  return std::nullopt;
}

Result<SafetensorsHeader> parse_safetensors_header(std::string_view json) {
  HeaderEvents events;
  CKPT_TRY(in("header", events.run(json, kLengthBytes)));
  return std::move(events.header);
}

}  // namespace ckpt
