#include "quantizers/ggml/k/k_search.h"

namespace ckpt {
void find_search_errors_scalar(const SearchGroup& group, std::span<const SearchFit> fits,
                               SearchErrors* errors) {
  for (size_t k = 0; k < fits.size(); ++k) {
    for (size_t j = 0; j < kSearchSubs; ++j) {
      const float scale = fits[k].scales[j];
      const float minimum = fits[k].minimums[j];
      const float inverse = search_inverse(scale);
      float sum = 0;
      for (size_t e = 0; e < group.count; ++e) {
        const float value = group.values[e * kSearchSubs + j];
        const float stored = scale * search_code(group, value, minimum, inverse) - minimum;
        const float error = stored - value;
        sum += group.weights[e * kSearchSubs + j] * (error * error);
      }
      errors[k].errors[j] = sum;
    }
  }
}

void find_search_sums_scalar(const SearchGroup& group, const SearchFit& fit, SearchSums& sums) {
  for (size_t j = 0; j < kSearchSubs; ++j) {
    const float scale = fit.scales[j];
    const float inverse = search_inverse(scale);
    float codes = 0, squares = 0, values = 0;
    for (size_t e = 0; e < group.count; ++e) {
      const float value = group.values[e * kSearchSubs + j];
      const float code = search_code(group, value, fit.minimums[j], inverse);
      const float product = group.weights[e * kSearchSubs + j] * code;
      codes += product;
      squares += product * code;
      values += product * value;
    }
    sums.codes[j] = codes;
    sums.squares[j] = squares;
    sums.values[j] = values;
  }
}

}  // namespace ckpt
