#include "transforms/modelopt_export/state.h"

#include "core/readers/pickle.h"
#include "core/readers/zip.h"

namespace ckpt {
namespace {

constexpr std::string_view kPickleName = "/data.pkl";

Result<std::string_view> find_pickle(std::string_view file) {
  if (!file.starts_with("PK\x03\x04")) return corrupt("not a zip");
  const auto* const first = reinterpret_cast<const std::byte*>(file.data());
  const SharedSource zip = make_blob("modelopt_state.pth", {first, first + file.size()});
  CKPT_ASSIGN(const std::vector<ZipEntry> entries, read_zip_directory(entire(zip)));
  for (const ZipEntry& entry : entries) {
    if (!entry.name.ends_with(kPickleName)) continue;
    CKPT_ASSIGN(const Slice found, find_zip_entry(entire(zip), entry));
    return file.substr(found.offset_bytes, found.size_bytes);
  }
  return corrupt("a zip of {} entries; none is called '*{}'", entries.size(), kPickleName);
}

using Node = Pickle::Node;
using Kind = Pickle::Kind;

bool is_true(const Node* node) {
  const bool is_number = node != nullptr && (node->kind == Kind::kBool || node->kind == Kind::kInt);
  return is_number && node->whole != 0;
}

// (2, 1) is E2M1, a whole number an integer of that many bits.
Status read_bits(const Pickle& pickle, const Node& node, QuantizerFormat& out) {
  if (node.kind == Kind::kInt) {
    out.mantissa_bits = node.whole;
    return {};
  }
  if (node.kind != Kind::kList || node.items.size() != 2) {
    return corrupt("_num_bits is neither a number nor a pair of them");
  }
  out.exponent_bits = pickle.node(node.items[0]).whole;
  out.mantissa_bits = pickle.node(node.items[1]).whole;
  return {};
}

void read_blocks(const Pickle& pickle, const Node* node, QuantizerFormat& out) {
  if (node == nullptr || node->kind != Kind::kDict) return;
  const Node* row = pickle.find(*node, int64_t{-1});
  if (row != nullptr && row->kind == Kind::kInt) out.block_values = row->whole;
  out.is_four_over_six = is_true(pickle.find(*node, "four_over_six"));
  const Node* scale = pickle.find(*node, "scale_bits");
  if (scale == nullptr || scale->kind != Kind::kList || scale->items.size() != 2) return;
  out.has_e8m0_scales = pickle.node(scale->items[0]).whole == 8;
}

Result<QuantizerFormat> read_format(const Pickle& pickle, const Node& state) {
  QuantizerFormat out;
  const Node* bits = pickle.find(state, "_num_bits");
  out.is_enabled = bits != nullptr && !is_true(pickle.find(state, "_disabled"));
  if (!out.is_enabled) return out;
  CKPT_TRY(read_bits(pickle, *bits, out));
  read_blocks(pickle, pickle.find(state, "_block_sizes"), out);
  const Node* axis = pickle.find(state, "_axis");
  out.is_per_channel = axis != nullptr && axis->kind != Kind::kNone;
  return out;
}

// The quantizers of the last mode that tells of any.
const Node* find_quantizers(const Pickle& pickle) {
  const Node* modes = pickle.find(pickle.root(), "modelopt_state_dict");
  if (modes == nullptr || modes->kind != Kind::kList) return nullptr;
  for (size_t i = modes->items.size(); i > 0; --i) {
    const Node& mode = pickle.node(modes->items[i - 1]);
    if (mode.kind != Kind::kList || mode.items.size() != 2) continue;
    const Node* metadata = pickle.find(pickle.node(mode.items[1]), "metadata");
    const Node* found = metadata == nullptr ? nullptr : pickle.find(*metadata, "quantizer_state");
    if (found != nullptr && found->kind == Kind::kDict) return found;
  }
  return nullptr;
}

}  // namespace

std::string name(const QuantizerFormat& format) {
  const bool e2m1 = format.exponent_bits == 2 && format.mantissa_bits == 1;
  const bool e4m3 = format.exponent_bits == 4 && format.mantissa_bits == 3;
  if (e2m1 && format.block_values == 16 && !format.has_e8m0_scales) return "NVFP4";
  if (e2m1 && format.block_values == 32 && format.has_e8m0_scales) return "MXFP4";
  if (e4m3 && format.block_values == 32 && format.has_e8m0_scales) return "MXFP8";
  if (e4m3 && !format.block_values) return format.is_per_channel ? "FP8 per channel" : "FP8";
  std::string out = format.exponent_bits == 0
                        ? fmt::format("INT{}", format.mantissa_bits)
                        : fmt::format("E{}M{}", format.exponent_bits, format.mantissa_bits);
  if (format.block_values) out += fmt::format(" in blocks of {}", *format.block_values);
  if (format.is_per_channel) out += " per channel";
  return out;
}

Result<ModeloptState> read_modelopt_state(std::string_view file) {
  CKPT_ASSIGN(const std::string_view bytes, find_pickle(file));
  CKPT_ASSIGN(const Pickle pickle,
              Pickle::parse(bytes, static_cast<uint64_t>(bytes.data() - file.data())));
  ModeloptState out;
  if (const Node* version = pickle.find(pickle.root(), "modelopt_version")) {
    out.version = version->text;
  }
  const Node* quantizers = find_quantizers(pickle);
  if (quantizers == nullptr) {
    return corrupt("no quantizer_state in any mode of modelopt_state_dict");
  }
  for (size_t i = 0; i + 1 < quantizers->items.size(); i += 2) {
    const std::string& path = pickle.node(quantizers->items[i]).text;
    CKPT_ASSIGN(QuantizerFormat format,
                in(path, read_format(pickle, pickle.node(quantizers->items[i + 1]))));
    out.quantizers.emplace(path, format);
  }
  return out;
}

}  // namespace ckpt
