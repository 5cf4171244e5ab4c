// Folders of testdata/families with other configurations, made projectors.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/json/json_read.h"
#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tests/support/files.h"
#include "transforms/transforms.h"

namespace ckpt::mmproj_test {

inline Checkpoint family(const std::string& name) {
  const auto folder = testdata("families/" + name + "/hf");
  auto checkpoint = (*recognize(folder))->read(folder, all_codecs(), {});
  EXPECT_TRUE(checkpoint);
  return std::move(*checkpoint);
}

inline Result<Checkpoint> projector_of(const Checkpoint& checkpoint, const Options& options = {}) {
  return find_transform("to-mmproj")->apply(checkpoint, options, {all_codecs(), nullptr, nullptr});
}

inline std::string error_of(const Checkpoint& checkpoint) {
  const auto made = projector_of(checkpoint);
  return made ? "no error" : made.error().text();
}

inline JsonValue document(const Checkpoint& checkpoint, const std::string& path) {
  return **checkpoint.find_document(path)->values();
}

// The family with `fields` in its vision_config; one that is null is taken out.
inline Checkpoint with_vision(const std::string& name, const JsonValue& fields) {
  Checkpoint out = family(name);
  JsonValue config = document(out, "config.json");
  for (const auto& [field, value] : fields.items()) {
    config["vision_config"].erase(field);
    if (!value.is_null()) config["vision_config"][field] = value;
  }
  out.set_document("config.json", config.dump());
  return out;
}

inline void drop(Checkpoint& checkpoint, const std::string& part) {
  std::erase_if(checkpoint.tensors,
                [&](const Tensor& tensor) { return tensor.name.find(part) != std::string::npos; });
}

inline std::optional<uint64_t> number_of(const Result<Checkpoint>& made, std::string_view key) {
  return made ? made->metadata.find_unsigned(key) : std::nullopt;
}

inline std::string_view type_of(const Result<Checkpoint>& made, std::string_view tensor) {
  const Tensor* found = made ? made->find_tensor(tensor) : nullptr;
  return found == nullptr ? "none" : found->codec->name;
}

}  // namespace ckpt::mmproj_test
