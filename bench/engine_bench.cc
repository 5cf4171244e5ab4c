// How fast the parts of a conversion are apart from each other: planning, reading, writing,
// hashing. A whole run can be no faster than the slowest of them and of the encoder
// (encode_bench.cc).
//
//   engine_bench FOLDER OUT_FOLDER [--threads N]      one line each: what, GB/s, ratio to memcpy
#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstring>
#include <functional>
#include <iostream>
#include <thread>

#include "core/base/sha256.h"
#include "core/engine/compare.h"
#include "core/outputs/file_writer.h"
#include "plan/conversion/pipeline.h"
#include "quantizers/quantizers.h"

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
    NewFile file{path, Descriptor(::open(path.c_str(), FileMode{}.open_flags(), 0644))};
    if (!file.descriptor.is_open()) expect(fail(ErrorCode::kIo, "{}: no file", path.string()));
    auto writer = FileWriter::create(std::move(file), size_bytes, pool);
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

// Weights from memory to blocks in memory, in pieces that stay in a core's cache: no disk, no hash.
double encode_rate(const Codec& codec, unsigned threads) {
  constexpr uint64_t kValues = 32 << 10, kPieces = 4096;
  std::vector<float> values(kValues);
  uint32_t state = 1;
  for (float& value : values) {
    // Sums of uniform numbers: bell-shaped enough for a search that depends on the values.
    float sum = 0;
    for (int i = 0; i < 4; ++i) {
      state = state * 1664525u + 1013904223u;
      sum += static_cast<float>(state >> 8) / static_cast<float>(1 << 24) - 0.5f;
    }
    value = 0.02f * sum;
  }
  const uint64_t block = size_bytes(codec.parts[0].dtype);
  const double seconds = seconds_of([&] {
    expect(for_each_parallel(kPieces, threads, [&](size_t) -> Status {
      thread_local std::vector<std::byte> out;
      out.resize(kValues / codec.block_values * block);
      const std::span<std::byte> part = out;
      codec.encode({values, 4096}, {}, std::span(&part, 1));
      return {};
    }));
  });
  return static_cast<double>(kValues * kPieces) / seconds / 1e6;
}

void show_encode_scaling(unsigned threads) {
  const unsigned cores = threads != 0 ? threads : std::thread::hardware_concurrency();
  for (const char* name : {"q4_k", "q6_k"}) {
    const Codec& codec = *find_codec(all_codecs(), name);
    const double one = encode_rate(codec, 1), all = encode_rate(codec, cores);
    std::cout << fmt::format("encode {}, 1 thread            {:8.0f} Mw/s\n", name, one);
    std::cout << fmt::format(
        "encode {}, {:>2} threads          {:8.0f} Mw/s  {:.2f} of one thread\n", name, cores, all,
        all / one);
  }
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
  show_encode_scaling(threads);
  line("read weights", read_rate(folder, threads), reference);
  line("write 2 GiB, hashed, synced",
       write_rate(std::filesystem::path(out) / "bench.bin", uint64_t{2} << 30, threads), reference);
  return 0;
}
