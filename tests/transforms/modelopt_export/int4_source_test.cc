// INT4 becomes NVFP4 only by being rounded a second time: error and exact values are reported.
#include "tests/transforms/modelopt_export/models.h"
#include "tests/transforms/run_step.h"

namespace ckpt {
using namespace step_test;
using namespace export_test;
namespace {

const Options kExpertsAlone =
    options({{"type", "nvfp4"}, {"preset", "experts-only-input-scale1"}, {"rounding", "cpu"}});

TEST(Int4Source, TheErrorOfASecondRoundingIsNoted) {
  std::vector<std::string> notes;
  const auto made = run("export", *open(testdata("families/kimi-int4/hf")), kExpertsAlone, &notes);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  ASSERT_GE(notes.size(), 2u);
  EXPECT_EQ(notes[0].substr(0, 41), "12 weights of packed integers were decode") << notes[0];
  const size_t at = notes[0].find("at most "), quote = notes[0].find('\'');
  ASSERT_NE(at, std::string::npos);
  const double worst = std::stod(notes[0].substr(at + 8));
  const std::string name = notes[0].substr(quote + 1, notes[0].find('\'', quote + 1) - quote - 1);
  const Checkpoint floats = settle(
      run("dequantize", *open(testdata("families/kimi-int4/hf")), options({{"type", "f32"}})));
  EXPECT_NEAR(written_error(settle(made), floats, name), worst, worst / 50);
  EXPECT_NE(notes[0].find("0 weights and "), std::string::npos) << notes[0];
}

// One pass gives what two passes with a BF16 folder in between would give.
TEST(Int4Source, TensorsAreThoseOfTheWayThroughBf16) {
  const Checkpoint source = *open(testdata("families/kimi-int4/hf"));
  const Checkpoint made = settle(run("export", source, kExpertsAlone));
  const Checkpoint floats = settle(run("dequantize", source, options({{"type", "bf16"}})));
  const Checkpoint by_way = settle(run("export", floats, kExpertsAlone));
  ASSERT_EQ(names_of(made), names_of(by_way));
  for (const Tensor& each : made.tensors) {
    if (!is_float(each.codec->parts[0].dtype) && each.codec->decode == nullptr) continue;
    EXPECT_EQ(*read_values(each, 1 << 22), *read_values(tensor(by_way, each.name), 1 << 22))
        << each.name;
  }
}

}  // namespace
}  // namespace ckpt
