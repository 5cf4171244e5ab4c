// GPTQ and AutoAWQ: integers of a few bits with scales and zero points for groups of inputs.
//
//                     gptq                                 awq (gemm)
//   P.qweight  I32    [K bits / 32, N], words down a       [K, N/8], words along a row
//                     column: a stream of K numbers
//   P.qzeros   I32    [G, N bits / 32], along a row        [G, N/8]
//   P.scales   float  [G, N]                               [G, N]
//   P.g_idx    I32    [K]: the group of each input         -
//   value (n, k)      (q - z) x scale, z = stored + 1,     (q - z) x scale
//                     no + 1 in gptq_v2
//   in a word         number i in bits b i to b i + b - 1  number (0, 2, 4, 6, 1, 3, 5, 7)[i]
//
// Numbers of 3 bits may cross words: 32 of them fill three words. Note: stored + 1 is not cut to
// the bits of the code, as in llama.cpp's converter.
// Sources: ModelCloud/GPTQModel gptqmodel/nn_modules/qlinear/__init__.py; casper-hansen/AutoAWQ
// awq/utils/packing_utils.py; llama.cpp conversion/base.py (dequant_gptq).
#include <algorithm>
#include <bit>
#include <set>

#include "core/base/arithmetic.h"
#include "core/base/words.h"
#include "core/model/tensor_names.h"
#include "transforms/packed/job.h"

namespace ckpt {
namespace {

constexpr uint64_t kGptqWordBits = 32;
constexpr uint64_t kMaxInputs = uint64_t{1} << 24;  // limit for reading groups of columns
constexpr std::array<uint8_t, 8> kAwqPlaces = {0, 4, 1, 5, 2, 6, 3, 7};

bool is_qweight(const PackedJob&, const Tensor& tensor) {
  return tensor.name.ends_with(".qweight") && tensor.codec->parts.size() == 1 &&
         tensor.codec->parts[0].dtype == Dtype::kI32;
}

// A number that has different names in documents of different programs.
std::optional<uint64_t> stated_number(const PackedJob& job, const char* name, const char* other) {
  const auto found = job.statement.declared.find_whole(name);
  return found ? found : job.statement.declared.find_whole(other);
}

// The rules of GPTQModel and AutoRound; null if there are none.
const JsonText* rules_by_layer(const PackedJob& job) {
  for (const char* key : {"dynamic", "extra_config"}) {
    const JsonText* rules = job.statement.declared.find(key);
    if (rules != nullptr && rules->is_object() && !rules->members().empty()) return rules;
  }
  return nullptr;
}

Failure gptq_unread(const PackedJob& job, std::string_view key, const std::string& found,
                    std::string_view expected) {
  return unsupported_hint("the checkpoint that it was quantized from",
                          "{}: quantization_config.{} is {}; of {} only {} is read here",
                          job.statement.place, key, found, job.statement.method, expected);
}

struct GptqParts {
  const Tensor &qweight, &qzeros, &scales;
  const Tensor* g_idx;  // may be null
  uint64_t groups() const { return scales.shape[0]; }
  uint64_t rows() const { return scales.shape[1]; }
};

Result<GptqParts> find_gptq_parts(const PackedJob& job, const Tensor& qweight) {
  const std::string stem = module_of(qweight.name);
  CKPT_ASSIGN(const Tensor* zeros, job.need(stem + ".qzeros", qweight));
  CKPT_ASSIGN(const Tensor* scales, job.need(stem + ".scales", qweight));
  if (!is_plain_grid(qweight, Dtype::kI32, 2)) return wrong_part(qweight, "words in two axes");
  if (!is_plain_grid(*zeros, Dtype::kI32, 2)) return wrong_part(*zeros, "i32 in two axes");
  if (!is_float_grid(*scales, 2)) return wrong_part(*scales, "f16, bf16 or f32 in two axes");
  if (zeros->shape[0] != scales->shape[0]) {
    return wrong_part(*zeros, fmt::format("{} rows, as '{}' has", scales->shape[0], scales->name));
  }
  return GptqParts{qweight, *zeros, *scales, job.find(stem + ".g_idx")};
}

// The group size in a document; -1 there means all inputs. Returns 0 if it is absent.
uint64_t declared_group(const JsonText* declared, uint64_t inputs) {
  if (declared == nullptr) return 0;
  return declared->token() == "-1" ? inputs : declared->as_whole().value_or(0);
}

// Every group size that config.json declares for some layer.
std::vector<uint64_t> declared_groups(const PackedJob& job, uint64_t inputs) {
  const JsonText& declared = job.statement.declared;
  const JsonText* own = declared.find("group_size");
  std::vector<uint64_t> out{
      declared_group(own != nullptr ? own : declared.find("q_group_size"), inputs)};
  if (const JsonText* rules = rules_by_layer(job)) {
    for (const auto& [pattern, rule] : rules->members()) {
      if (rule.is_object()) out.push_back(declared_group(rule.find("group_size"), inputs));
    }
  }
  std::erase(out, 0);
  return out;
}

Failure not_in_groups(const GptqParts& parts, uint64_t inputs, uint64_t group) {
  return wrong_part(parts.scales, fmt::format("{} rows: {} inputs in groups of {}",
                                              divide_up(inputs, group), inputs, group));
}

// The number of values in a row that share a scale: the declared one that fits. If none is
// declared, groups of a power of two that fill the row, or one group.
Result<uint64_t> gptq_group_size(const PackedJob& job, const GptqParts& parts, uint64_t inputs) {
  const std::vector<uint64_t> declared = declared_groups(job, inputs);
  const uint64_t groups = parts.groups();
  std::set<uint64_t> fitting;
  for (const uint64_t group : declared) {
    if (divide_up(inputs, group) == groups) fitting.insert(std::min(group, inputs));
  }
  const bool is_even = groups != 0 && inputs % groups == 0;
  if (declared.empty() && is_even && (groups == 1 || std::has_single_bit(inputs / groups))) {
    return inputs / groups;
  }
  if (fitting.size() == 1) return *fitting.begin();
  if (fitting.size() > 1) {
    return wrong_part(parts.scales, fmt::format("rows of one group size: {} inputs in groups of {} "
                                                "and of {} have as many",
                                                inputs, *fitting.begin(), *fitting.rbegin()));
  }
  if (declared.empty()) {
    return wrong_part(parts.scales, fmt::format("a group_size in {}, as {} rows for {} inputs "
                                                "do not say it",
                                                job.statement.place, groups, inputs));
  }
  return not_in_groups(parts, inputs, declared[0]);
}

// The group of each input; null if groups are consecutive, with `group` inputs each.
Result<std::shared_ptr<const std::vector<uint32_t>>> input_groups(const PackedJob& job,
                                                                  const GptqParts& parts,
                                                                  uint64_t inputs,
                                                                  uint64_t& group) {
  const Tensor& g_idx = *parts.g_idx;
  if (g_idx.shape != std::vector<uint64_t>{inputs} || !is_plain_grid(g_idx, Dtype::kI32, 1)) {
    return wrong_part(g_idx, fmt::format("i32 [{}], one for each input", inputs));
  }
  const std::vector<uint64_t> stated = declared_groups(job, inputs);
  const auto fitting = std::ranges::find_if(
      stated, [&](uint64_t each) { return divide_up(inputs, each) == parts.groups(); });
  if (fitting == stated.end() && !stated.empty()) return not_in_groups(parts, inputs, stated[0]);
  group = stated.empty() ? divide_up(inputs, parts.groups()) : std::min(*fitting, inputs);
  if (!job.reads_values) return nullptr;
  CKPT_ASSIGN(const auto read, read_integers(g_idx, kMaxInputs));
  CKPT_ASSIGN(std::vector<uint32_t> out, groups_of_inputs(g_idx, *read, parts.groups()));
  bool is_plain = true;
  for (uint64_t k = 0; k < inputs; ++k) is_plain = is_plain && out[k] == k / group;
  if (is_plain) return nullptr;
  return std::make_shared<const std::vector<uint32_t>>(std::move(out));
}

// Requires g_idx if inputs were sorted by their activations, because only it gives their groups.
Status check_order_is_known(const PackedJob& job, const GptqParts& parts) {
  const auto says = [](const JsonText& declared, bool wanted) {
    const JsonText* sorted = declared.find("desc_act");
    return sorted != nullptr && sorted->as_boolean() == wanted;
  };
  bool is_sorted = parts.groups() > 1 && says(job.statement.declared, true);
  if (const JsonText* rules = is_sorted ? rules_by_layer(job) : nullptr) {
    is_sorted = std::ranges::none_of(rules->members(),
                                     [&](const auto& rule) { return says(rule.second, false); });
  }
  if (is_sorted) CKPT_TRY(job.need(module_of(parts.qweight.name) + ".g_idx", parts.qweight));
  return {};
}

ScaleGrid gptq_scales(const GptqParts& parts, uint64_t group) {
  return {.bytes = only_slice(parts.scales),
          .dtype = parts.scales.codec->parts[0].dtype,
          .rows = parts.rows(),
          .columns = parts.groups(),
          .is_transposed = true,
          .tile_rows = 1,
          .tile_columns = group};
}

CodeGrid gptq_words(const Tensor& tensor, uint64_t outer, uint64_t inner, uint64_t bits) {
  return {.bytes = only_slice(tensor),
          .outer = outer,
          .inner = inner,
          .bits = static_cast<uint32_t>(bits),
          .is_transposed = true};
}

PackedWeight gptq_weight(const PackedJob& job, const GptqParts& parts, CodedMatrix matrix,
                         std::string label) {
  const std::string name = module_of(parts.qweight.name) + std::string(kWeight);
  PackedWeight out{coded_tensor(job, parts.qweight, name, std::move(matrix)),
                   {&parts.qweight, &parts.qzeros, &parts.scales},
                   std::move(label)};
  if (parts.g_idx != nullptr) out.parts.push_back(parts.g_idx);
  return out;
}

// The number to add to stored zero points.
Result<int32_t> added_zero(const PackedJob& job) {
  auto format = job.statement.declared.find_text("checkpoint_format");
  if (!format) format = job.statement.declared.find_text("format");
  const JsonText* marlin = job.statement.declared.find("is_marlin_format");
  if (marlin != nullptr && marlin->token() == "true") format = "marlin";
  if (!format || *format == "gptq") return 1;
  if (*format == "gptq_v2") return 0;
  return gptq_unread(job, "checkpoint_format", fmt::format("'{}'", *format),
                     "'gptq' and 'gptq_v2'");
}

// The number of bits follows from the zero points: one for each output in each group.
Result<uint64_t> gptq_bits(const PackedJob& job, const GptqParts& parts) {
  constexpr uint64_t kWidths[] = {2, 3, 4, 8};
  const auto stated = stated_number(job, "bits", "w_bit");
  const auto is_known = [&](uint64_t bits) { return std::ranges::count(kWidths, bits) != 0; };
  if (stated && !is_known(*stated)) {
    return gptq_unread(job, "bits", fmt::format("{}", *stated), "2, 3, 4 and 8");
  }
  for (const uint64_t bits : kWidths) {
    const bool is_other = stated && *stated != bits && rules_by_layer(job) == nullptr;
    if (is_other || parts.qzeros.shape[1] != divide_up(parts.rows() * bits, kGptqWordBits))
      continue;
    return bits;
  }
  return wrong_part(parts.qzeros,
                    fmt::format("zero points of {} bits for the {} outputs that '{}' has",
                                stated ? fmt::format("{}", *stated) : "2, 3, 4 or 8", parts.rows(),
                                parts.scales.name));
}

Result<PackedWeight> join_gptq(const PackedJob& job, const Tensor& qweight) {
  CKPT_ASSIGN(const GptqParts parts, find_gptq_parts(job, qweight));
  CKPT_ASSIGN(const int32_t zero, added_zero(job));
  CKPT_ASSIGN(const uint64_t bits, gptq_bits(job, parts));
  const auto stored_bits = multiply(qweight.shape[0], kGptqWordBits);
  if (qweight.shape[1] != parts.rows() || !stored_bits || *stored_bits % bits != 0) {
    return wrong_part(qweight, fmt::format("{} columns of whole numbers of {} bits, as '{}' has",
                                           parts.rows(), bits, parts.scales.name));
  }
  const uint64_t inputs = *stored_bits / bits;
  CodedMatrix matrix{.rows = parts.rows(), .columns = inputs, .zero = zero};
  uint64_t group = 0;
  if (parts.g_idx != nullptr) {
    CKPT_ASSIGN(matrix.groups, input_groups(job, parts, inputs, group));
  } else {
    CKPT_TRY(check_order_is_known(job, parts));
    CKPT_ASSIGN(group, gptq_group_size(job, parts, inputs));
  }
  matrix.codes = gptq_words(qweight, inputs, parts.rows(), bits);
  matrix.codes.is_across = true;
  matrix.zeros = gptq_words(parts.qzeros, parts.groups(), parts.rows(), bits);
  matrix.scales = gptq_scales(parts, group);
  return gptq_weight(job, parts, std::move(matrix),
                     fmt::format("GPTQ {} bits (group {})", bits, group));
}

Result<PackedWeight> join_awq(const PackedJob& job, const Tensor& qweight) {
  auto version = job.statement.declared.find_text("version");
  if (!version) version = job.statement.declared.find_text("format");
  if (version && lower_case(*version) != "gemm") {
    return gptq_unread(job, "version", fmt::format("'{}'", *version), "'gemm'");
  }
  const auto bits = stated_number(job, "bits", "w_bit");
  if (bits && *bits != 4) return gptq_unread(job, "bits", fmt::format("{}", *bits), "4");
  CKPT_ASSIGN(const GptqParts parts, find_gptq_parts(job, qweight));
  const uint64_t words = divide_up(parts.rows(), 8);
  if (parts.rows() % 8 != 0 || qweight.shape[1] != words) {
    return wrong_part(qweight, fmt::format("{} columns: eight of the {} outputs that '{}' has in "
                                           "a word",
                                           words, parts.rows(), parts.scales.name));
  }
  if (parts.qzeros.shape[1] != words) {
    return wrong_part(parts.qzeros, fmt::format("{} columns, as '{}' has", words, qweight.name));
  }
  const uint64_t inputs = qweight.shape[0];
  CKPT_ASSIGN(const uint64_t group, gptq_group_size(job, parts, inputs));
  if (inputs % group != 0) {
    return wrong_part(qweight, fmt::format("a multiple of group_size {} as rows", group));
  }
  CodedMatrix matrix{.rows = parts.rows(),
                     .columns = inputs,
                     .codes = gptq_words(qweight, inputs, parts.rows(), 4),
                     .zeros = gptq_words(parts.qzeros, parts.groups(), parts.rows(), 4),
                     .scales = gptq_scales(parts, group)};
  matrix.codes.places = matrix.zeros.places = kAwqPlaces;
  return gptq_weight(job, parts, std::move(matrix), fmt::format("AWQ 4 bits (group {})", group));
}

}  // namespace

extern constinit const PackedKind kGptqKind{"gptq", is_qweight, join_gptq};
extern constinit const PackedKind kAwqKind{"awq", is_qweight, join_awq};

}  // namespace ckpt
