# a plan is not carried out when any file that its tensors are computed from has been written to
"$ckpt" convert "$testdata/families/gpt-oss/hf" m.gguf -q --tokenizer-pre gpt-4o --split-size 10KB > list
"$ckpt" convert m-00001-of-00023.gguf out --plan-out plan.json -q > /dev/null
for part in m-*.gguf; do
  touch -r "$part" before; touch "$part"
  "$ckpt" execute plan.json -q 2>&1; echo "exit $?"
  touch -r before "$part"
done > said
grep -c 'exit 2' said; grep -c 'an input changed since the plan was made' said
ls -d out* 2> /dev/null
"$ckpt" execute plan.json -q > /dev/null; echo "exit $?"; ls -d out
