#include "core/engine/compare.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <span>

#include "core/base/arithmetic.h"
#include "core/base/sha256.h"
#include "core/base/threads.h"
#include "core/computed/gather.h"
#include "core/io/remote_files.h"

namespace ckpt {
namespace {

constexpr uint64_t kReadBytes = 4 << 20;

}  // namespace

Result<bool> same_bytes(const Tensor& a, const Tensor& b,
                        const std::function<Status(uint64_t)>& advanced) {
  CKPT_CHECK(a.is_stored() && b.is_stored() && a.codec == b.codec && a.shape == b.shape);
  GatherBuffers buffers_a, buffers_b;
  for (size_t part = 0; part < a.codec->parts.size(); ++part) {
    const SliceIndex index_a(a.stored().parts[part]), index_b(b.stored().parts[part]);
    if (index_a.size_bytes() != index_b.size_bytes()) return false;
    for (uint64_t at = 0; at < index_a.size_bytes(); at += kReadBytes) {
      const uint64_t here = std::min(kReadBytes, index_a.size_bytes() - at);
      CKPT_ASSIGN(const auto bytes_a, gather(index_a, at, here, buffers_a));
      CKPT_ASSIGN(const auto bytes_b, gather(index_b, at, here, buffers_b));
      if (std::memcmp(bytes_a.data(), bytes_b.data(), here) != 0) return false;
      if (advanced) CKPT_TRY(advanced(here));
    }
  }
  return true;
}

Status for_each_parallel(size_t count, unsigned threads, const std::function<Status(size_t)>& job) {
  std::atomic<size_t> next{0};
  std::atomic<size_t> error_index{SIZE_MAX};
  std::mutex mutex;
  std::optional<Error> error;
  const auto work = [&] {
    for (size_t i = next++; i < count && i < error_index; i = next++) {
      Status status = job(i);
      if (status) continue;
      const std::lock_guard lock(mutex);
      if (i >= error_index) continue;
      error_index = i;
      error = std::move(status.error());
    }
  };
  run_on_threads(std::min<size_t>(cores_or(threads), count), work);
  if (error) return Failure(std::move(*error));
  return {};
}

Result<std::string> hash_file(const std::filesystem::path& path,
                              const std::atomic<bool>* interrupted,
                              const std::function<void(uint64_t)>& advanced, GitId* git_id) {
  CKPT_ASSIGN(const SharedSource source, open_file(path));
  const uint64_t size_bytes = source->size_bytes();
  std::vector<AlignedBuffer> buffers(is_url(path) ? kReadsOfServer / kUrlsHashed : 1);
  std::vector<std::span<const std::byte>> parts;
  Sha256 sha256;
  for (uint64_t at = 0; at < size_bytes; at += parts.size() * kReadBytes) {
    CKPT_TRY(check_not_interrupted(interrupted));
    parts.resize(std::min<uint64_t>(buffers.size(), divide_up(size_bytes - at, kReadBytes)));
    CKPT_TRY(for_each_parallel(parts.size(), kReadsOfServer, [&](size_t i) -> Status {
      const uint64_t start = at + i * kReadBytes, here = std::min(kReadBytes, size_bytes - start);
      CKPT_ASSIGN(parts[i], source->fetch(start, here, buffers[i]));
      return {};
    }));
    for (const std::span<const std::byte> bytes : parts) {
      sha256.add(bytes);
      if (git_id != nullptr) git_id->add(bytes);
      if (advanced) advanced(bytes.size());
    }
  }
  return sha256.finish();
}

}  // namespace ckpt
