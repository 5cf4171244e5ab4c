# Files made with recipes of ModelOpt are those that ModelOpt makes with them.
grep -v '^#' "$testdata/export/recipes/real.tsv" | cut -f 1-3 | uniq | while read -r model to preset; do
  word="$preset"; case $preset in *.yaml) word="$testdata/export/recipes/$preset";; esac
  rm -rf out
  "$ckpt" convert "$testdata/$model" out --to "$to" --preset "$word" --rounding cpu --quiet > sums || echo "refused"
  awk -F '\t' -v m="$model" -v p="$preset" '$1 == m && $3 == p { print $5 "  " $4 }' "$testdata/export/recipes/real.tsv" > want
  echo "$model $preset"; (cd out && sha256sum -c ../want 2>&1)
done
