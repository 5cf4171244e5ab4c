#include "transforms/facts/file_metadata.h"

#include <set>
#include <string>
#include <string_view>

#include "core/json/json_edit.h"

namespace ckpt {
namespace {

constexpr std::string_view kWeightFileEnding = ".safetensors";
constexpr const char* kAnyWeightFile = "model.safetensors";

// Whether an entry describes torchao's packing: {"_type": "Float8Tensor", ...} under a tensor's
// name, or the list of these names.
bool describes_packing(const MetaEntry& entry) {
  if (entry.key == "tensor_names") return true;
  const auto* text = std::get_if<std::string>(&entry.value.value);
  if (text == nullptr || !text->starts_with('{')) return false;
  const auto json = JsonText::parse(*text);
  return json && json->find("_type") != nullptr;
}

}  // namespace

void join_file_metadata(Checkpoint& checkpoint) {
  Metadata all;
  std::set<std::string> known;
  for (const auto& [file, metadata] : checkpoint.file_metadata) {
    if (!file.ends_with(kWeightFileEnding)) continue;  // an index of files
    for (const MetaEntry& entry : metadata.entries) {
      if (!describes_packing(entry) && known.insert(entry.key).second) all.entries.push_back(entry);
    }
  }
  if (!known.contains("format")) all.append("format", MetaValue::text("pt"));
  checkpoint.file_metadata.clear();
  checkpoint.file_metadata.emplace(kAnyWeightFile, std::move(all));
}

}  // namespace ckpt
