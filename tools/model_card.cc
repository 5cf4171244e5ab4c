#include "tools/model_card.h"

#include <map>

#include "core/checkpoint.h"
#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tools/console.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

std::string table_of(const Checkpoint& checkpoint) {
  struct Sum {
    uint64_t tensors = 0, values = 0, size_bytes = 0;
  };
  std::map<std::string_view, Sum> by_type;
  Sum total;
  for (const Tensor& tensor : checkpoint.tensors) {
    for (Sum* sum : {&by_type[tensor.codec->name], &total}) {
      ++sum->tensors;
      sum->values += tensor.values();
      sum->size_bytes += size_bytes(tensor);
    }
  }
  const auto row = [](std::string_view name, const Sum& sum) {
    const double bits =
        sum.values == 0 ? 0
                        : 8 * static_cast<double>(sum.size_bytes) / static_cast<double>(sum.values);
    return fmt::format("| {} | {} | {} | {} | {:.2f} |\n", name, sum.tensors,
                       human_count(sum.values), human_bytes(sum.size_bytes), bits);
  };
  std::string out =
      "| type | tensors | weights | size | bits per weight |\n|---|---:|---:|---:|---:|\n";
  for (const auto& [name, sum] : by_type) out += row(name, sum);
  return out + row("all", total);
}

}  // namespace

Result<std::string> render_model_card(const fs::path& folder,
                                      const std::vector<FileDigest>& files) {
  std::string out = "## Quantization\n\n";
  const Result<const Format*> format = recognise(folder);
  if (format) {
    CKPT_ASSIGN(const Checkpoint checkpoint, (*format)->read(folder, all_codecs()));
    out += table_of(checkpoint) + "\n";
  }
  for (const FileDigest& file : files) {
    if (!file.name.ends_with(".gguf")) continue;
    CKPT_ASSIGN(const Format* gguf, recognise(folder / file.name));
    CKPT_ASSIGN(const Checkpoint checkpoint, gguf->read(folder / file.name, all_codecs()));
    out += fmt::format("### {}\n\n{}\n", file.name, table_of(checkpoint));
  }
  out += "## Files\n\n| file | size | SHA-256 |\n|---|---:|---|\n";
  for (const FileDigest& file : files) {
    out +=
        fmt::format("| {} | {} | `{}` |\n", file.name, human_bytes(file.size_bytes), file.sha256);
  }
  return out + "\nChecked with `sha256sum -c SHA256SUMS` or `ckpt verify`.\n";
}

}  // namespace ckpt
