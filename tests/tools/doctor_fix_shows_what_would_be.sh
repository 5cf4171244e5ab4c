# --fix --dry-run shows the verdicts as they would be and writes nothing; --fix --out takes an empty folder
"$ckpt" convert "$testdata/export/qat-checkpoint" m --to nvfp4 -q > /dev/null || exit 9
(cd m && find . -type f | sort | xargs sha256sum) > before
"$ckpt" doctor m --for vllm-0.17 | head -4
"$ckpt" doctor m --for vllm-0.17 --fix --dry-run > would; echo "exit $?"
sed "s/shifted\|rewritten/changed/" would
(cd m && sha256sum -c --quiet) < before && echo unchanged
mkdir empty && "$ckpt" doctor m --for vllm-0.17 --fix --out empty | sed "s/shifted\|rewritten/changed/" | head -12
(cd m && sha256sum -c --quiet) < before && echo unchanged
mkdir full && touch full/notes && "$ckpt" doctor m --for vllm-0.17 --fix --out full 2>&1; echo "exit $?"
