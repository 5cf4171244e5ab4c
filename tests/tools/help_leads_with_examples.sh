"$ckpt" convert --help | head -4; "$ckpt" help show >/dev/null; "$ckpt" --version
