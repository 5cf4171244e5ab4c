#include "bench/ggml_peer.h"

#include <dlfcn.h>

namespace ckpt {

Result<GgmlPeer> GgmlPeer::open(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return fail(ErrorCode::kIo, "{}", dlerror());
  void* function = dlsym(library, "ggml_quantize_chunk");
  if (function == nullptr) return fail(ErrorCode::kIo, "{}", dlerror());
  return GgmlPeer(reinterpret_cast<QuantizeChunk>(function));
}

void GgmlPeer::encode(int type, ConstFloatRows rows, std::span<const float> weights,
                      std::byte* out) const {
  quantize_(type, rows.values.data(), out, 0, static_cast<int64_t>(rows.rows()),
            static_cast<int64_t>(rows.row_values), weights.empty() ? nullptr : weights.data());
}

}  // namespace ckpt
