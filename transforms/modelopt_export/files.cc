// Which file a tensor of an export goes to.
//
// Source: huggingface_hub serialization/_base.py (split_state_dict_into_shards_factory) with the
// limit of NVIDIA Model-Optimizer modelopt/torch/export/unified_export_hf.py (max_shard_size).
// Layer 10 comes behind layer 9 there, and lm_head behind all; a tensor larger than a file may be
// gets one at once, before the file that is being filled.
#include <algorithm>
#include <cctype>

#include "transforms/modelopt_export/tensors.h"

namespace ckpt {
namespace {

constexpr uint64_t kMaxFileBytes = 10'000'000'000;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

size_t digits_at(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - at;
}

// Runs of digits compare as numbers.
bool natural_less(std::string_view a, std::string_view b) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const size_t digits_a = digits_at(a, i), digits_b = digits_at(b, j);
    if (digits_a == 0 || digits_b == 0) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    if (digits_a != digits_b) return digits_a < digits_b;
    const int order = a.compare(i, digits_a, b, j, digits_b);
    if (order != 0) return order < 0;
    i += digits_a, j += digits_b;
  }
  return a.size() - i < b.size() - j;
}

bool before(const Tensor& a, const Tensor& b) {
  const bool head_a = a.name.starts_with("lm_head"), head_b = b.name.starts_with("lm_head");
  return head_a != head_b ? head_b : natural_less(a.name, b.name);
}

}  // namespace

void assign_export_files(std::vector<Tensor>& tensors) {
  std::ranges::stable_sort(tensors, before);
  std::vector<std::vector<size_t>> files;
  std::vector<size_t> open;
  uint64_t open_bytes = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const uint64_t bytes = size_bytes(tensors[i]);
    if (bytes > kMaxFileBytes) {
      files.push_back({i});
      continue;
    }
    if (open_bytes + bytes > kMaxFileBytes) {
      files.push_back(std::move(open));
      open.clear();
      open_bytes = 0;
    }
    open.push_back(i);
    open_bytes += bytes;
  }
  if (!open.empty()) files.push_back(std::move(open));
  for (size_t file = 0; file < files.size(); ++file) {
    const std::string name =
        files.size() == 1 ? "model.safetensors"
                          : fmt::format("model-{:05}-of-{:05}.safetensors", file + 1, files.size());
    for (const size_t i : files[file]) tensors[i].home = name;
  }
}

}  // namespace ckpt
