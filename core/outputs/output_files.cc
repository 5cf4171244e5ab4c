#include "core/outputs/output_files.h"

#include <algorithm>
#include <span>

#include "core/outputs/space.h"

namespace ckpt {

Status OutputFiles::open(bool force, Leftovers leftovers, FileMode mode) {
  mode.room = &room_;
  CKPT_TRY(check_space(plan_, leftovers));
  for (size_t i = 0; i < plan_.outputs.size(); ++i) {
    const Output& output = plan_.outputs[i];
    CKPT_ASSIGN(Place place, Place::make(output, force, leftovers));
    places_.push_back(std::move(place));
    auto& writers = writers_.emplace_back();
    if (leftovers == Leftovers::kPublish) continue;
    for (const OutputFile& file : output.layout.files) {
      CKPT_ASSIGN(NewFile opened, places_.back().make_file(file, mode.open_flags()));
      const auto reopen = [this, i, &file](int flags) {
        return places_[i].make_file(file, flags).map([](NewFile&& again) {
          return std::move(again.descriptor);
        });
      };
      CKPT_ASSIGN(writers.emplace_back(),
                  FileWriter::create(std::move(opened), file.size_bytes, pool_, mode, reopen));
      // Documents are complete soon and cannot pass for a model, so they need no held head.
      if (!file.extents.empty()) {
        writers.back()->hold_head(
            std::span(file.header).first(std::min(kHeadBytes, file.header.size())));
      }
    }
  }
  return {};
}

Result<std::vector<FileReport>> OutputFiles::finish() {
  std::vector<FileReport> reports;
  for (size_t i = 0; i < plan_.outputs.size(); ++i) {
    const Output& output = plan_.outputs[i];
    for (size_t j = 0; j < output.layout.files.size(); ++j) {
      FileWriter& writer = *writers_[i][j];
      CKPT_ASSIGN(std::string sha256, writer.finish());
      const OutputFile& file = output.layout.files[j];
      reports.push_back({final_path(output, file).string(), file.size_bytes, std::move(sha256),
                         writer.hash_seconds()});
    }
  }
  return reports;
}

Status OutputFiles::publish(Progress* progress) {
  for (Place& place : places_) {
    CKPT_ASSIGN(const std::string note, place.publish());
    if (!note.empty() && progress != nullptr) progress->note(note);
  }
  return {};
}

void OutputFiles::keep() {
  for (Place& place : places_) place.keep();
}

}  // namespace ckpt
