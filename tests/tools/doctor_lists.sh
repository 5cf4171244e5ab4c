# Checks and profiles of the doctor, as list shows them.
"$ckpt" list profiles
"$ckpt" list checks | cut -c1-70 | head -4
