# A recipe's imports come from its folder and its modelopt_recipes alone, names that ModelOpt ships are its own, and what another
# user may have written is refused. Folders above are searched by nobody.
model="$testdata/qwen35moe-micro"
umask 022
top=$PWD
try() { "$ckpt" convert "$model" out --to nvfp4 --preset "$@" --dry-run 2>&1 >/dev/null | grep -E 'imports|others may|belongs' | sed "s#$testdata#TESTDATA#g; s#$top#PWD#g" || true; }
good="$testdata/export/recipes/experts_nvfp4-attention_fp8_blocks.yaml"
form='# modelopt-schema: modelopt.torch.quantization.config.QuantizerAttributeConfig'
own() { mkdir -p "$1"; printf '%s\nnum_bits: e2m1\nblock_sizes: {-1: 16, type: dynamic, scale_bits: e4m3}\n' "$form" > "$1/nvfp4.yaml"; }
mkdir -p work/deep/below
sed 's#configs/numerics/nvfp4#own/nvfp4#' "$good" > work/deep/r.yaml
echo "-- nothing is there"; try work/deep/r.yaml
echo "-- above it, and in the current folder"
own own; own work/own; own work/modelopt_recipes/own; own modelopt_recipes/own; own work/deep/below/own
try work/deep/r.yaml
(cd work/deep/below && try ../r.yaml)
echo "-- next to it"
own work/deep/own; try work/deep/r.yaml; (cd work/deep && try r.yaml)
echo "-- in its modelopt_recipes"
mkdir work/deep/modelopt_recipes && mv work/deep/own work/deep/modelopt_recipes/ && try work/deep/r.yaml
echo "-- in its folder"
mkdir work/modelopt_recipes/general && cp work/deep/r.yaml work/modelopt_recipes/general/ && try work/modelopt_recipes/general/r.yaml
(cd work/modelopt_recipes/general && try r.yaml)
echo "-- what ships is not replaced"
cp "$good" work/deep/shipped.yaml
"$ckpt" convert "$model" out --to nvfp4 --preset work/deep/shipped.yaml --dry-run -q > plain
for folder in work/deep work/deep/modelopt_recipes work .; do own $folder/configs/numerics; echo 'num_bits: 5' >> $folder/configs/numerics/nvfp4.yaml; done
"$ckpt" convert "$model" out --to nvfp4 --preset work/deep/shipped.yaml --dry-run -q | cmp - plain && echo "the same plan"
echo "-- others may write to it, to its folder, to what it links to"
file=work/deep/modelopt_recipes/own/nvfp4.yaml
chmod g+w $file; try work/deep/r.yaml; chmod g-w $file
chmod o+w work/deep/modelopt_recipes/own; try work/deep/r.yaml; chmod o-w work/deep/modelopt_recipes/own
mv $file elsewhere.yaml && ln -s "$PWD/elsewhere.yaml" $file && try work/deep/r.yaml
chmod o+w elsewhere.yaml; try work/deep/r.yaml; chmod o-w elsewhere.yaml
echo "-- another user's"
# Only root can give a file away; for others the answer is written out.
if [ "$(id -u)" = 0 ]; then chown -h 12345 $file; try work/deep/r.yaml
else echo "ckpt: TESTDATA/qwen35moe-micro: preset: work/deep/r.yaml: imports: 'own/nvfp4': work/deep/modelopt_recipes/own/nvfp4.yaml: belongs to user 12345; expected what a run of this user (0) has left. Try: a copy of work/deep/modelopt_recipes/own/nvfp4.yaml that is yours"; fi
