#include "core/chunks/error_feedback.h"

#include <cmath>

namespace ckpt {
namespace {

constexpr uint64_t kMostValues = uint64_t{1} << 27;
constexpr double kDamping = 0.05;

// Factorises `h` [n][n] for one run in place, then stores the result in `out`. Returns false if a
// pivot is not above zero.
bool factorise(std::vector<double>& h, size_t n, float* out) {
  const auto at = [&](size_t i, size_t j) -> double& { return h[i * n + j]; };
  std::vector<double> pivots(n), scaled(n);
  // G is stored above the diagonal of h.
  for (size_t j = n; j-- > 0;) {
    for (size_t k = j + 1; k < n; ++k) scaled[k] = at(j, k) * pivots[k];
    double pivot = at(j, j);
    for (size_t k = j + 1; k < n; ++k) pivot -= at(j, k) * scaled[k];
    if (!(pivot > 0) || !std::isfinite(pivot)) return false;
    pivots[j] = pivot;
    for (size_t i = 0; i < j; ++i) {
      double sum = at(i, j);
      for (size_t k = j + 1; k < n; ++k) sum -= at(i, k) * scaled[k];
      at(i, j) = sum / pivot;
    }
  }
  // Computes F = G^-1 row by row: F_i = e_i - sum of G_ik F_k.
  std::vector<double> inverse(n * n);
  for (size_t i = n; i-- > 0;) {
    inverse[i * n + i] = 1;
    for (size_t k = i + 1; k < n; ++k) {
      const double g = at(i, k);
      for (size_t j = k; j < n; ++j) inverse[i * n + j] -= g * inverse[k * n + j];
    }
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < i; ++j) out[i * n + j] = 0;
    out[i * n + i] = static_cast<float>(pivots[i]);
    for (size_t j = i + 1; j < n; ++j) out[i * n + j] = static_cast<float>(inverse[i * n + j]);
  }
  return true;
}

}  // namespace

Result<ErrorFeedback> make_error_feedback(const Tensor& moments) {
  CKPT_CHECK(moments.shape.size() == 3 && moments.shape[1] == moments.shape[2]);
  CKPT_ASSIGN(const std::vector<float> values, read_values(moments, kMostValues));
  const size_t n = moments.row_values();
  ErrorFeedback out;
  out.run_values = static_cast<uint32_t>(n);
  out.factors.resize(values.size());
  std::vector<double> h(n * n);
  for (size_t run = 0; run < moments.shape[0]; ++run) {
    const float* in = values.data() + run * n * n;
    double trace = 0;
    for (size_t i = 0; i < n; ++i) {
      trace += in[i * n + i];
      out.weights.push_back(in[i * n + i]);
    }
    // If no input reached the columns, all errors count equally.
    const double damping = trace > 0 ? kDamping * trace / static_cast<double>(n) : 1;
    for (size_t i = 0; i < n * n; ++i) h[i] = in[i];
    for (size_t i = 0; i < n; ++i) h[i * n + i] += damping;
    if (std::isfinite(trace) && factorise(h, n, out.factors.data() + run * n * n)) continue;
    return corrupt("tensor '{}': run {} of {} is not a matrix of second moments (mean of x x^T)",
                   moments.name, run, moments.shape[0]);
  }
  return out;
}

Result<FeedbackCache::Shared> FeedbackCache::get(const Tensor* moments) {
  if (moments == nullptr) return Shared();
  Entry* entry = nullptr;
  {
    const std::lock_guard lock(mutex_);
    entry = &entries_[moments];
  }
  const std::lock_guard lock(entry->mutex);
  if (Shared known = entry->factors.lock()) return known;
  CKPT_ASSIGN(ErrorFeedback made, make_error_feedback(*moments));
  Shared shared = std::make_shared<const ErrorFeedback>(std::move(made));
  entry->factors = shared;
  return shared;
}

}  // namespace ckpt
