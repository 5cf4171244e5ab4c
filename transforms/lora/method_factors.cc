// Methods whose adapters add a product, as LoRA's do.
//
//   AdaLoRA   B (A e) s / (init_r + 1e-5)      s = lora_alpha, or the rank if it is not positive
//   VeRA      (b B) (d A)                      A and B are shared, of the largest module
#include "core/chunks/written_source.h"
#include "core/computed/strided_source.h"
#include "transforms/lora/methods.h"

namespace ckpt {
namespace {

constexpr uint64_t kMaxRowScales = uint64_t{1} << 24;

// Multiplies each row of a factor by its value of `scales`, in F32.
Result<Tensor> scaled_rows(const MethodModule& given, const Tensor& tensor, const Tensor& scales) {
  CKPT_ASSIGN(std::vector<float> values, read_values(scales, kMaxRowScales));
  CKPT_ASSIGN(Tensor out, recode(tensor, plain_codec(given.codecs, Dtype::kF32)));
  CKPT_SET(out, with_op(std::move(out),
                        ScaleRows{std::make_shared<const std::vector<float>>(std::move(values))}));
  return stored_as_written(out);
}

// PEFT rounds the factors of modules that lost ranks to the type of the weight.
Result<Tensor> adalora_factor(const MethodModule& given, std::string_view name,
                              const std::vector<uint64_t>& shape) {
  CKPT_ASSIGN(Tensor out, given.need(name, shape));
  if (!given.config().options.contains("rank_pattern") || !is_plain_float(given.type)) return out;
  CKPT_SET(out, recode(std::move(out), given.type));
  return stored_as_written(out);
}

Result<LowRankUpdate> adalora(const MethodModule& given) {
  CKPT_ASSIGN(const Tensor a, adalora_factor(given, "lora_A", {0, given.columns}));
  CKPT_ASSIGN(const Tensor e, adalora_factor(given, "lora_E", {a.rows(), 1}));
  LowRankUpdate out;
  CKPT_SET(out.left, adalora_factor(given, "lora_B", {given.rows, a.rows()}));
  CKPT_SET(out.right, scaled_rows(given, a, e));
  const double alpha = given.config().option("lora_alpha", 0);
  out.scale = static_cast<float>((alpha > 0 ? alpha : double(a.rows())) * double{given.scale});
  // PEFT divides by init_r, the rank at the start of training, plus 1e-5, and adds them in F32.
  out.divisor = static_cast<float>(given.config().option("init_r", 0)) + 1e-5F;
  return out;
}

Result<LowRankUpdate> vera(const MethodModule& given) {
  const auto shared = [&](std::string_view name) -> Result<Tensor> {
    const Tensor* const* found = find_mapped(given.adapter.shared.factors, name);
    if (found != nullptr && (*found)->shape.size() == 2) return **found;
    return unsupported_hint("saving the adapter again with save_projection=True",
                            "the file has no {}, which PEFT would draw at random", name);
  };
  CKPT_ASSIGN(Tensor a, shared("vera_A"));
  CKPT_ASSIGN(Tensor b, shared("vera_B"));
  const uint64_t rank = a.rows();
  CKPT_ASSIGN(const Tensor d, given.need("vera_lambda_d", {rank}));
  CKPT_ASSIGN(const Tensor scales, given.need("vera_lambda_b", {given.rows}));
  if (a.row_values() < given.columns || b.rows() < given.rows || b.row_values() != rank) {
    return corrupt("tensors '{}' [{}] and '{}' [{}] do not fit '{}' [{}, {}]", a.name,
                   fmt::join(a.shape, ", "), b.name, fmt::join(b.shape, ", "), given.module.name,
                   given.rows, given.columns);
  }
  if (a.row_values() > given.columns) {
    const uint64_t all = a.row_values();
    CKPT_SET(a, take_grid(a, {0, {1, rank, given.columns}, {0, all, 1}}));
    CKPT_SET(a, reshape(std::move(a), {rank, given.columns}));
  }
  CKPT_SET(b, take_rows(b, 0, given.rows));
  LowRankUpdate out;
  CKPT_SET(out.left, scaled_rows(given, b, scales));
  CKPT_SET(out.right, scaled_rows(given, a, d));
  out.scale = given.scale;
  return out;
}

}  // namespace

extern constinit const AdapterMethod kAdaLora{
    .type = "ADALORA",
    .name = "AdaLoRA",
    .factors = " lora_A lora_B lora_E ",
    .keys = " init_r target_r tinit tfinal deltaT beta1 beta2 orth_reg_weight total_step lora_alpha"
            " rank_pattern ",
    .has_scale = true,
    .has_conv1d = true,
    .product = adalora};

extern constinit const AdapterMethod kVera{
    .type = "VERA",
    .name = "VeRA",
    .factors = " vera_lambda_b vera_lambda_d vera_A vera_B ",
    .keys = " projection_prng_key save_projection vera_dropout d_initial init_weights ",
    .has_scale = true,
    .has_conv1d = true,
    .product = vera};

}  // namespace ckpt
