// A block of Markdown for a model card: the folder's content, type by type, and its hashes.
//
//   <!-- ckpt: begin -->   ckpt rewrites the text between these two lines each time; the rest
//   ...                    of the card belongs to a person and stays
//   <!-- ckpt: end -->
#include <cstdint>
#include <map>

#include "core/base/numbered_name.h"
#include "core/base/words.h"
#include "core/model/checkpoint.h"
#include "formats/formats.h"
#include "plan/conversion/steps.h"
#include "plan/conversion/targets.h"
#include "quantizers/quantizers.h"
#include "tools/published/published_files.h"
#include "tools/say/console.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kCardBegin = "<!-- ckpt: begin -->";
constexpr std::string_view kCardEnd = "<!-- ckpt: end -->";

bool occurs_once(const std::string& text, std::string_view line) {
  const size_t at = text.find(line);
  return at != text.npos && text.find(line, at + 1) == text.npos;
}

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
    return fmt::format("| {} | {} | {} | {} | {:.2f} |\n", name, sum.tensors,
                       human_count(sum.values), human_bytes(sum.size_bytes),
                       bits_per_weight(sum.size_bytes, sum.values));
  };
  std::string out =
      "| type | tensors | weights | size | bits per weight |\n|---|---:|---:|---:|---:|\n";
  for (const auto& [name, sum] : by_type) out += row(name, sum);
  return out + row("all", total);
}

// Returns `card` with `block` in place of its present block, or at its end. Fails: kUsage for a
// card with only one of the two lines, or several of them.
Result<std::string> with_block(const std::string& card, std::string block) {
  if (card.find("\r\n") != card.npos) {
    for (size_t at = block.find('\n'); at != block.npos; at = block.find('\n', at + 2)) {
      block.insert(at, 1, '\r');
    }
  }
  const std::string line_end = block.ends_with("\r\n") ? "\r\n" : "\n";
  const size_t begin = card.find(kCardBegin), end = card.find(kCardEnd);
  if (begin == card.npos && end == card.npos) {
    if (card.empty()) return block;
    return card + (card.ends_with('\n') ? "" : line_end) + line_end + block;
  }
  if (!occurs_once(card, kCardBegin) || !occurs_once(card, kCardEnd) || begin > end) {
    return misuse_hint("removing these lines from it",
                       "'{}' and '{}' must each occur once, in this order", kCardBegin, kCardEnd);
  }
  block.resize(block.size() - line_end.size());  // the card's own line break follows
  return card.substr(0, begin) + block + card.substr(end + kCardEnd.size());
}

}  // namespace

Result<std::string> render_model_card(const fs::path& folder,
                                      const std::vector<FileDigest>& files) {
  std::string out = fmt::format("{}\n## Quantization\n\n", kCardBegin);
  const Result<const Format*> format = recognize(folder);
  if (format) {
    CKPT_ASSIGN(const Checkpoint checkpoint, (*format)->read(folder, all_codecs(), {}));
    out += table_of(checkpoint) + "\n";
  }
  for (const FileDigest& file : files) {
    if (!has_ending(file.name, ".gguf")) continue;
    // The reader opens all parts of a split model from the first file, so the others are skipped.
    const auto numbered = parse_numbered(file.name);
    if (numbered && numbered->number != 1) continue;
    CKPT_ASSIGN(const Checkpoint checkpoint, read_checkpoint(folder / file.name));
    out += fmt::format("### {}\n\n{}\n", file.name, table_of(checkpoint));
  }
  out += "## Files\n\n| file | size | SHA-256 |\n|---|---:|---|\n";
  for (const FileDigest& file : files) {
    // These files are written with the card or after it.
    if (file.name == kSumsName || file.name == kSignatureName || file.name == kProvenanceName ||
        file.name == kReportName) {
      continue;
    }
    out +=
        fmt::format("| {} | {} | `{}` |\n", file.name, human_bytes(file.size_bytes), file.sha256);
  }
  return out +
         fmt::format("\nChecked with `sha256sum -c SHA256SUMS` or `ckpt verify`.\n{}\n", kCardEnd);
}

Result<std::string> edited_card(const fs::path& path, std::string_view own_name,
                                const fs::path& folder, std::vector<FileDigest> files) {
  std::erase_if(files, [&](const FileDigest& file) { return file.name == own_name; });
  CKPT_ASSIGN(std::string block, render_model_card(folder, files));
  CKPT_ASSIGN(const std::string card, read_card(path));
  return in(path.string(), with_block(card, std::move(block)));
}

}  // namespace ckpt
