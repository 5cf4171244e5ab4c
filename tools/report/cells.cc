#include "tools/report/cells.h"

#include <algorithm>
#include <tuple>

#include "core/base/numbers.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

// The name differs from that in core/base/words.h, because unity builds compile both together.
std::vector<std::string_view> split_name(std::string_view name) {
  std::vector<std::string_view> out;
  while (true) {
    const size_t dot = name.find('.');
    out.push_back(name.substr(0, dot));
    if (dot == name.npos) return out;
    name.remove_prefix(dot + 1);
  }
}

// Whether a word of a tensor's name does not describe its role.
bool is_wrapping(std::string_view word) {
  return has_word("model language_model backbone transformer weight", word);
}

bool names_layers(std::string_view word) { return has_word("layers blk blocks h block", word); }

bool is_of_scales(std::string_view word) {
  return word.ends_with("scale") || word.ends_with("scale_2") || word.ends_with("scale_inv") ||
         word == "_amax" || word == "weight_shape" || word.ends_with("_quantizer");
}

// Whether the role is in a tower or in multi-token prediction, whose layers are numbered
// separately.
bool is_outside_text_model(std::string_view role) {
  constexpr std::string_view kFronts[] = {"visual", "vision", "v.", "audio", "a.", "mtp", "mm"};
  return std::ranges::any_of(kFronts, [&](auto front) { return role.starts_with(front); });
}

int rank_of(const TensorPlace& place) {
  if (place.layer) return 1;
  if (place.role.find("embd") != std::string::npos ||
      place.role.find("embed") != std::string::npos) {
    return 0;
  }
  return place.role == "lm_head" || place.role == "output" ? 3 : 2;
}

void add(const Tensor& tensor, CellSums& sums) {
  ++sums.tensors;
  sums.weights += tensor.values();
  sums.size_bytes += size_bytes(tensor);
}

struct RankedCount {
  std::string name;
  int rank;  // the lowest rank comes first
  CellSums sums;
};
using CountedList = std::vector<RankedCount>;

void count(const std::string& name, int rank, const Tensor& stored, CountedList& list,
           std::map<std::string, size_t>& known) {
  const auto [at, is_new] = known.try_emplace(name, list.size());
  if (is_new) list.push_back({name, rank, {}});
  add(stored, list[at->second].sums);
}

std::map<std::string, size_t> places_in(const CountedList& list) {
  std::map<std::string, size_t> out;
  for (size_t i = 0; i < list.size(); ++i) out[list[i].name] = i;
  return out;
}

// The roles in the order of the model, and the types by their total size.
std::pair<CountedList, CountedList> roles_and_types(const Checkpoint& checkpoint) {
  CountedList roles, types;
  std::map<std::string, size_t> known_roles, known_types;
  for (const Tensor& tensor : checkpoint.tensors) {
    const TensorPlace place = place_of(tensor.name);
    const Tensor& stored = tensor.stored_tensor();
    count(place.role, rank_of(place), stored, roles, known_roles);
    count(std::string(stored.codec->name), 0, stored, types, known_types);
  }
  std::ranges::stable_sort(roles, {}, &RankedCount::rank);
  std::ranges::stable_sort(types, [](const RankedCount& a, const RankedCount& b) {
    return a.sums.size_bytes > b.sums.size_bytes;
  });
  return {std::move(roles), std::move(types)};
}

}  // namespace

TensorPlace place_of(std::string_view tensor) {
  TensorPlace out;
  std::vector<std::string_view> kept;
  const std::vector<std::string_view> words = split_name(tensor);
  for (size_t i = 0; i < words.size(); ++i) {
    const auto number = number_from<uint64_t>(words[i]);
    if (number && !out.layer && i > 0 && names_layers(words[i - 1])) {
      out.layer = number;
      kept.pop_back();
    } else if (!number && !is_wrapping(words[i])) {
      kept.push_back(words[i]);
    }
  }
  while (kept.size() > 1 && is_of_scales(kept.back())) kept.pop_back();
  out.role = fmt::format("{}", fmt::join(kept, "."));
  if (out.role.empty()) out.role = tensor;
  return out;
}

Cells cells_of(const Checkpoint& checkpoint) {
  using Key = std::tuple<size_t, std::optional<uint64_t>, size_t>;
  Cells out;
  const auto [roles, types] = roles_and_types(checkpoint);
  const auto role_at = places_in(roles), type_at = places_in(types);
  for (const RankedCount& role : roles) out.roles.push_back(role.name);
  for (const RankedCount& type : types) {
    out.types.push_back(type.name);
    out.of_type.push_back(type.sums);
  }
  std::map<Key, Cell> grid;
  std::vector<Key> keys;
  for (const Tensor& tensor : checkpoint.tensors) {
    const Tensor& stored = tensor.stored_tensor();
    const TensorPlace place = place_of(tensor.name);
    const Key key{role_at.at(place.role), place.layer, type_at.at(std::string(stored.codec->name))};
    const auto& [role, layer, type] = key;
    add(stored, grid.try_emplace(key, Cell{role, layer, type, {}, 0, {}}).first->second.sums);
    keys.push_back(key);
    const bool is_text = place.layer && !is_outside_text_model(place.role);
    if (is_text) out.layers = std::max(out.layers, *place.layer + 1);
  }
  std::map<Key, size_t> index;
  for (const auto& [key, cell] : grid) {
    index[key] = out.cells.size();
    out.cells.push_back(cell);
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    out.of_tensor[checkpoint.tensors[i].name] = index.at(keys[i]);
  }
  return out;
}

}  // namespace ckpt
