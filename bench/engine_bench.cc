// How fast the parts of a conversion are apart from each other: planning, reading, writing,
// hashing. A whole run can be no faster than the slowest of them and of the encoder
// (encode_bench.cc).
//
//   engine_bench FOLDER OUT_FOLDER [--threads N]      one line each: what, GB/s, ratio to memcpy
#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <iostream>
#include <thread>

#include "core/compare.h"
#include "core/file_writer.h"
#include "core/sha256.h"
#include "tools/pipeline.h"

namespace ckpt {
namespace {

constexpr uint64_t kChunkBytes = 4 << 20;

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void expect(const Status& status) {
  if (status) return;
  std::cerr << "engine_bench: " << status.error().text() << "\n";
  std::exit(2);
}

double memcpy_rate() {
  std::vector<char> from(256 << 20, 1), to(256 << 20, 2);
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    best = std::min(best, seconds_of([&] { std::memcpy(to.data(), from.data(), from.size()); }));
  }
  return static_cast<double>(from.size()) / best / 1e9;
}

double hash_rate() {
  const std::vector<std::byte> bytes(256 << 20, std::byte{7});
  Sha256 sha256;
  const double seconds = seconds_of([&] { sha256.add(bytes); });
  return static_cast<double>(bytes.size()) / seconds / 1e9;
}

// Every weight file of a folder, in chunks, by `threads` threads.
double read_rate(const std::filesystem::path& folder, unsigned threads) {
  std::vector<Slice> chunks;
  uint64_t total = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") continue;
    const auto source = open_file(entry.path());
    if (!source) continue;
    for (uint64_t at = 0; at < (*source)->size_bytes(); at += kChunkBytes) {
      chunks.push_back({*source, at, std::min(kChunkBytes, (*source)->size_bytes() - at)});
      total += chunks.back().size_bytes;
    }
  }
  const double seconds = seconds_of([&] {
    expect(for_each_parallel(chunks.size(), threads, [&](size_t i) -> Status {
      thread_local AlignedBuffer buffer;
      CKPT_TRY(chunks[i].source->fetch(chunks[i].offset_bytes, chunks[i].size_bytes, buffer));
      return {};
    }));
  });
  return static_cast<double>(total) / seconds / 1e9;
}

// `size_bytes` into one file, written and hashed as the engine does it, with the final sync.
double write_rate(const std::filesystem::path& path, uint64_t size_bytes, unsigned threads) {
  std::filesystem::remove(path);
  BufferPool pool;
  const double seconds = seconds_of([&] {
    auto writer = FileWriter::create(path, size_bytes, pool);
    if (!writer) expect(Failure(writer.error()));
    expect(for_each_parallel(size_bytes / kChunkBytes, threads, [&](size_t i) -> Status {
      Piece piece = make_piece(pool, i * kChunkBytes, kChunkBytes);
      return (*writer)->put(std::move(piece));
    }));
    const auto digest = (*writer)->finish();
    if (!digest) expect(Failure(digest.error()));
  });
  std::filesystem::remove(path);
  return static_cast<double>(size_bytes) / seconds / 1e9;
}

void line(const char* what, double rate, double reference) {
  std::cout << fmt::format("{:<28} {:8.2f} GB/s  {:.3f} of memcpy\n", what, rate, rate / reference);
}

}  // namespace
}  // namespace ckpt

int main(int argc, char** argv) {
  using namespace ckpt;
  CLI::App app{"rates of planning, reading, writing and hashing"};
  std::string folder, out;
  unsigned threads = 0;
  app.add_option("FOLDER", folder)->required();
  app.add_option("OUT_FOLDER", out)->required();
  app.add_option("--threads", threads);
  CLI11_PARSE(app, argc, argv);
  Conversion conversion;
  conversion.in = folder;
  conversion.out = std::filesystem::path(out) / "plan.gguf";
  conversion.to = "q4_k_m";
  const double plan = seconds_of([&] {
    const auto planned = plan_conversion(conversion);
    if (!planned) expect(Failure(planned.error()));
  });
  std::cout << fmt::format("{:<28} {:8.1f} ms\n", "plan", plan * 1e3);
  const double reference = memcpy_rate();
  line("memcpy, one thread", reference, reference);
  line("SHA-256, one thread", hash_rate(), reference);
  line("read weights", read_rate(folder, threads), reference);
  line("write 2 GiB, hashed, synced",
       write_rate(std::filesystem::path(out) / "bench.bin", uint64_t{2} << 30, threads), reference);
  return 0;
}
