"""Folders with files of weights that do not belong together."""
import shutil

import weights

SINGLE = "model.safetensors"
FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
MTP = {"mtp.fc.weight": ("BF16", [2], b"abcd")}


def layouts(source, folder):
    """Makes the folder of each kind from the model in `source`, one after the other, and yields its name."""
    model = weights.read(source / SINGLE)
    names = list(model)
    zeros = {name: (dtype, shape, bytes(len(data))) for name, (dtype, shape, data) in model.items()}

    def held(files, file):
        return {name: model[name] for name in names if files[name] == file}

    def save(file, tensors):
        weights.write(folder / file, tensors)

    def layout(change, tensors=model, count=2, index=True):
        files = weights.write_shards(folder, tensors, count)
        changed = change(files)
        if index:
            weights.write_index(folder, files if changed is None else changed)

    def named(change):
        return lambda: layout(lambda files: files.update(change(files)))

    def with_file(file, tensors, index=True):
        return lambda: layout(lambda files: save(file, tensors), index=index)

    def without_index(file, tensors):
        return with_file(file, tensors, index=False)

    def copies(tensors, index=None):
        def change(files):
            save(FIRST, held(files, FIRST) | {name: tensors[name] for name in names[-3:]})
            files.update(index or {})
        return change

    def next_to_single(file, tensors):
        def make():
            save(SINGLE, model)
            save(file, tensors)
        return make

    def two_sets(tensors, index):
        def make():
            weights.write_shards(folder, tensors, 4)
            layout(lambda files: None, index=index)
        return make

    def omitted():
        save("model-extra.safetensors", {name: model[name] for name in names[:2]})
        layout(lambda files: None, {name: model[name] for name in names[2:]})

    def torch_index():
        save(SINGLE, model)
        (folder / "pytorch_model.bin.index.json").write_text('{"weight_map": {"a": "pytorch_model-00001-of-00002.bin"}}')

    one = {names[3]: zeros[names[3]]}
    kinds = {
        "an index that names a ghost": named(lambda files: {"mtp.fc.weight": SECOND}),
        "  another file": named(lambda files: {names[0]: SECOND}),
        "  not all tensors": lambda: layout(lambda files: files.pop(names[-1]) and None),
        "  files of an earlier save": lambda: layout(lambda files: {name: f"model-0000{i % 4 + 1}-of-00004.safetensors" for i, name in enumerate(files)}),
        "  files of an earlier save, and a ghost": lambda: layout(lambda files: {name: f"model-0000{i % 4 + 1}-of-00004.safetensors"
                                                                             for i, name in enumerate([*files, "mtp.fc.weight"])}),
        "  a missing file too": named(lambda files: {names[0]: "model-00003-of-00003.safetensors"}),
        "  files, one missing": lambda: layout(lambda files: (folder / FIRST).unlink()),
        "  files, one omitted": omitted,
        "stale copies in the first file": lambda: layout(copies(zeros)),
        "  that the index names": lambda: layout(copies(zeros, {names[-1]: FIRST})),
        "next to the index: a set of zeros": two_sets(zeros, True),
        "  a stray file of new tensors": with_file("stray.safetensors", MTP),
        "  a shard of new tensors": with_file("model-mtp.safetensors", MTP),
        "  a stray file of text": lambda: layout(lambda files: (folder / "model-x.safetensors").write_text("junk") and None),
        "  a single file, equal": with_file(SINGLE, model),
        "  a single file, one tensor other": with_file(SINGLE, model | one),
        "  a single file, one tensor less": with_file(SINGLE, {name: model[name] for name in names[1:]}),
        "no index: a single file and equal shards": without_index(SINGLE, model),
        "  a single file and other shards": without_index(SINGLE, model | one),
        "  a single file and new tensors": next_to_single("model-mtp.safetensors", MTP),
        "  a single file and another precision": next_to_single("model.fp16.safetensors", zeros),
        "  equal copies in two shards": lambda: layout(copies(model), index=False),
        "  other copies in two shards": lambda: layout(copies(zeros), index=False),
        "  two equal sets": two_sets(model, False),
        "  a set of zeros": two_sets(zeros, False),
        "  an index of .bin": torch_index,
    }

    for name, make in kinds.items():
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns(SINGLE))
        make()
        yield name
