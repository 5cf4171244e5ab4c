// quantize_one IN.safetensors TENSOR OUT.gguf: one tensor as Q4_K, in a separate GGUF file.
#include <cstdio>

#include "core/engine/execute.h"
#include "formats/formats.h"
#include "quantizers/quantizers.h"

using namespace ckpt;

Result<ExecuteReport> quantize_one(const char* in, const char* name, const char* out) {
  const Codecs codecs = all_codecs();
  CKPT_ASSIGN(const Format* format, recognize(in));
  CKPT_ASSIGN(const Checkpoint source, format->read(in, codecs, {}));
  const Tensor* found = source.find_tensor(name);
  if (found == nullptr) return misuse("{}: has no tensor {}", in, name);

  Output output{.path = out, .checkpoint = {.format = "gguf"}, .layout = {}};
  output.checkpoint.metadata.set("general.architecture", MetaValue::text("llama"));
  CKPT_ASSIGN(Tensor tensor, recode(*found, *find_codec(codecs, "q4_k")));
  output.checkpoint.tensors.push_back(std::move(tensor));
  const LayoutOptions options{.out_name = output.path.filename()};
  CKPT_ASSIGN(output.layout, find_format("gguf")->lay_out(output.checkpoint, options, codecs));
  return execute({{output}}, {});  // bounded memory, all cores, OUT appears whole or not at all
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto report = quantize_one(argv[1], argv[2], argv[3]);
  if (!report) {
    std::fprintf(stderr, "%s\n", report.error().text().c_str());
    return 2;
  }
  std::printf("%s  %s\n", report->files[0].sha256.c_str(), report->files[0].path.c_str());
  return 0;
}
