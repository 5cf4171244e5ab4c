// Labels of classifiers (transformers configuration_utils.py: id2label, num_labels).
#include <map>

#include "core/base/numbers.h"
#include "models/shape.h"

namespace ckpt {

Result<std::vector<std::string>> class_labels(const JsonValue& config) {
  std::map<uint64_t, std::string> by_number;
  for (const auto& [key, label] : object_in(config, "id2label").items()) {
    const auto number = number_from<uint64_t>(key);
    const auto* text = label.get_ptr<const std::string*>();
    if (!number || text == nullptr) {
      return corrupt("config.json: id2label has \"{}\": {}; expected a number and a text", key,
                     label.dump());
    }
    by_number[*number] = *text;
  }
  constexpr uint64_t kUsual = 2, kMost = 1'000'000;
  const uint64_t declared = whole(known(config, "num_labels")).value_or(kUsual);
  if (declared > kMost)
    return unsupported("config.json: num_labels is {}; at most {}", declared, kMost);
  std::vector<std::string> out;
  for (auto& [number, text] : by_number) out.push_back(std::move(text));
  for (uint64_t i = 0; by_number.empty() && i < declared; ++i) {
    out.push_back(fmt::format("LABEL_{}", i));
  }
  return out;
}

bool has_unnamed_labels(const JsonValue& config) {
  const auto labels = class_labels(config);
  return labels && labels->size() == 2 && labels->front() == "LABEL_0";
}

Result<uint64_t> count_labels(const Fields& fields) {
  return class_labels(fields.config()).map([](const auto& labels) { return labels.size(); });
}

}  // namespace ckpt
