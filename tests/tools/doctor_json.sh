# One object a line: verdicts, findings, a summary.
"$ckpt" doctor "$testdata/qwen35vl-micro" --for sglang --json | sed 's/"mend":.*/.../'
