#include "transforms/lora/adapter.h"

#include <cmath>
#include <filesystem>

#include "core/base/printable.h"
#include "core/chunks/evaluate.h"
#include "core/computed/strided_source.h"

namespace ckpt {
namespace {

constexpr uint64_t kMaxAdapterConfigBytes = 16 << 20;
constexpr const char* kAdapterDocument = "adapter_config.json";
constexpr const char* kAdapterFiles[] = {"adapter_model.safetensors", "adapters.safetensors"};

Result<Checkpoint> open_weights(const std::filesystem::path& folder, const Context& context,
                                std::string& path) {
  for (const char* name : kAdapterFiles) {
    path = (folder / name).string();
    auto opened = context.open(path);
    if (opened || opened.error().code != ErrorCode::kUsage) return opened;
  }
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) {
    return fail(ErrorCode::kUsage,
                "{}: no such folder; expected one with adapter_config.json and "
                "adapter_model.safetensors",
                folder.string());
  }
  if (!std::filesystem::is_directory(folder, error)) {
    const std::string parent = folder.parent_path().string();
    return fail_with_hint(ErrorCode::kUsage,
                          shell_word("lora:from=" + (parent.empty() ? "." : parent)),
                          "{}: a file; expected the folder of the adapter", folder.string());
  }
  return fail(ErrorCode::kUsage,
              "{}: not an adapter (found no adapter_model.safetensors, expected it and "
              "adapter_config.json)",
              folder.string());
}

// A sum of squares is finite where every value is.
Status check_adapter_tensor(const Tensor& tensor) {
  const std::string place = fmt::format("tensor '{}'", tensor.name);
  if (!tensor.is_plain_float()) {
    return fail(ErrorCode::kUnsupported, "{}: stored as {}; expected floats", place,
                tensor.codec->name);
  }
  if (tensor.values() == 0) {
    return fail_with_hint(ErrorCode::kCorrupt,
                          "saving the adapter again with its parameters gathered (ZeRO-3)",
                          "{}: shape [{}] has no values", place, fmt::join(tensor.shape, ", "));
  }
  CKPT_ASSIGN(const ValueError sums, measure_error(tensor, tensor, {}, UINT64_MAX));
  if (std::isfinite(sums.signal)) return {};
  return fail(ErrorCode::kCorrupt, "{}: has NaN or Inf", place);
}

Result<AdapterKey> key_of_trainers(const std::string& name) {
  auto key = parse_adapter_key(name);
  if (key) return std::move(*key);
  return fail(ErrorCode::kUnsupported, "tensor '{}': not a name that LoRA adapters use", name);
}

bool may_be_gguf(const std::filesystem::path& place) {
  std::error_code error;
  return std::filesystem::is_regular_file(place, error) ||
         (place.extension() == ".gguf" && !std::filesystem::is_directory(place, error));
}

}  // namespace

Result<Tensor> turned_factor(const Tensor& tensor) {
  const uint64_t rows = tensor.rows(), columns = tensor.row_values();
  CKPT_ASSIGN(Tensor out, take_grid(tensor, {0, {1, columns, rows}, {0, 1, columns}}));
  return reshape(std::move(out), {columns, rows});
}

Status group_by_module(Adapter& adapter, const ParseKey& parse) {
  std::map<std::string, AdapterModule> modules;
  for (const Tensor& tensor : adapter.tensors) {
    CKPT_ASSIGN(const AdapterKey key, parse(tensor.name));
    CKPT_TRY(check_adapter_tensor(tensor));
    AdapterModule& module = modules[key.module];
    module.name = key.module;
    const auto [at, is_new] = module.parts.emplace(key.part, &tensor);
    if (!is_new) {
      return fail(ErrorCode::kCorrupt, "tensors '{}' and '{}' are the same part of one module",
                  at->second->name, tensor.name);
    }
  }
  for (auto& [name, module] : modules) adapter.modules.push_back(std::move(module));
  return {};
}

Result<Adapter> read_adapter(const std::string& place, const Context& context) {
  if (may_be_gguf(place)) {
    auto file = context.open(place);
    if (file && file->format == "gguf") return read_gguf_adapter(std::move(*file), place, context);
    if (place.ends_with(".gguf")) {
      return !file ? Result<Adapter>(Failure(std::move(file.error())))
                   : fail(ErrorCode::kUsage, "{}: expected a GGUF", place);
    }
  }
  Adapter out;
  CKPT_ASSIGN(Checkpoint weights, open_weights(place, context, out.path));
  const std::string config = (std::filesystem::path(place) / kAdapterDocument).string();
  CKPT_ASSIGN(const std::string text, context.file_text(config, kMaxAdapterConfigBytes));
  CKPT_ASSIGN(out.config, read_adapter_config(config, text));
  out.tensors = std::move(weights.tensors);
  CKPT_TRY(in(out.path, group_by_module(out, key_of_trainers)));
  return out;
}

Result<Adapter> adapter_of(const Checkpoint& checkpoint) {
  Adapter out;
  const Document* config = checkpoint.find_document(kAdapterDocument);
  if (config == nullptr) {
    return fail(ErrorCode::kUsage, "not an adapter: it has no {}", kAdapterDocument);
  }
  CKPT_ASSIGN(out.config, read_adapter_config(config->path, config->text()));
  out.tensors = checkpoint.tensors;
  CKPT_TRY(group_by_module(out, key_of_trainers));
  return out;
}

}  // namespace ckpt
