// A folder's documents and tensor names: what ckpt doctor says of them, and every step over them.
//
// The input holds several files (fuzz.h split_files): documents, "tensors" (names, types, shapes),
// "step" (steps as typed, one a line), and under "base/" those of a second folder, which every
// option DIR means. Laws: diagnosing and each step end; what comes out can be laid out or is
// refused; a step that says it touches documents alone leaves the tensors as they are.
#include "checks/checks.h"
#include "formats/formats.h"
#include "fuzz/fuzz.h"
#include "plan/conversion/steps.h"
#include "quantizers/quantizers.h"
#include "transforms/transforms.h"

namespace {

using namespace ckpt;

constexpr size_t kMaxSteps = 4;

std::vector<Step> steps_of(const std::vector<fuzz::NamedText>& files) {
  std::vector<Step> steps;
  for (const fuzz::NamedText& file : files) {
    if (file.path != "step") continue;
    std::string_view lines = file.text;
    while (!lines.empty() && steps.size() < kMaxSteps) {
      const size_t end = std::min(lines.find('\n'), lines.size());
      if (auto step = parse_step(lines.substr(0, end))) steps.push_back(std::move(*step));
      lines.remove_prefix(std::min(end + 1, lines.size()));
    }
  }
  return steps;
}

// Which of the looks it is, the size says, so that an execution costs one.
void read_all_of(const Checkpoint& checkpoint, size_t size) {
  if (size % 4 == 0) {
    (void)summarize_quantization(checkpoint);
    return;
  }
  if (size % 4 == 1) {
    (void)serve_command("vllm-0.17", checkpoint, "folder");
    return;
  }
  const auto has_step = [](std::string_view name) { return find_transform(name) != nullptr; };
  const DiagnosisOptions diagnosis_options{{}, false, "base", has_step};
  if (const auto diagnosis = diagnose(checkpoint, diagnosis_options)) {
    for (const Fix& fix : fixes(*diagnosis, true)) {
      if (fix.is_automatic()) FUZZ_LAW(parse_step(fix.step).has_value());
    }
  }
}

void expect_laid_out(const Checkpoint& checkpoint) {
  const Format* format = find_format(checkpoint.format);
  FUZZ_LAW(format != nullptr);
  LayoutOptions options;
  options.out_name = checkpoint.format == "gguf" ? "out.gguf" : "";
  (void)fuzz::lay_out(checkpoint, *format, options, all_codecs());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto files = fuzz::split_files(fuzz::as_text(data, size));
  Checkpoint checkpoint = fuzz::make_checkpoint(files, "", all_codecs());
  const std::vector<Step> steps = steps_of(files);
  if (steps.empty()) {
    read_all_of(checkpoint, size);
    return 0;
  }
  std::vector<std::string> notes;
  Context context = step_context(&notes, {});
  const auto base = [&] { return fuzz::make_checkpoint(files, "base/", all_codecs()); };
  context.open = [&](const auto&) { return Result<Checkpoint>(base()); };
  context.documents = [&](const auto&) { return Result<std::vector<Document>>(base().documents); };
  context.file_text = [&](const std::filesystem::path& path, uint64_t) -> Result<std::string> {
    for (const fuzz::NamedText& file : files) {
      if (file.path == path.string()) return std::string(file.text);
    }
    return fail(ErrorCode::kIo, "{}: not among the files", path.string());
  };
  for (const Step& step : steps) {
    const size_t tensors = checkpoint.tensors.size();
    auto made = step.transform->apply(std::move(checkpoint), step.options, context);
    if (!made) return 0;
    checkpoint = std::move(*made);
    if (step.transform->touches == ChangeScope::kDocuments) {
      FUZZ_LAW(checkpoint.tensors.size() == tensors);
    }
  }
  expect_laid_out(checkpoint);
  return 0;
}
