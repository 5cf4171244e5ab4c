# What the doctor knows, as list shows it.
"$ckpt" list profiles
"$ckpt" list checks | cut -c1-70 | head -4
