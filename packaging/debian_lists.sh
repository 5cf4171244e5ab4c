# Sourced. debian_lists WORK ARCHITECTURE: $apt is then apt-get for Debian 12 packages and sources of that
# architecture, checked by lists that Debian signed; this machine's own lists and packages are not touched.
debian_lists() {
  mkdir -p "$1/lists/partial" "$1/archives/partial"
  : > "$1/status"
  for kind in deb deb-src; do
    for suite in "debian bookworm" "debian bookworm-updates" "debian-security bookworm-security"; do
      echo "$kind [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/$suite main"
    done
  done > "$1/sources.list"
  apt="apt-get -qq -o APT::Architecture=$2 -o APT::Architectures=$2 \
    -o Dir::State=$1 -o Dir::State::lists=$1/lists -o Dir::State::status=$1/status \
    -o Dir::Cache=$1 -o Dir::Etc::sourcelist=$1/sources.list -o Dir::Etc::sourceparts=- \
    -o Acquire::Languages=none -o APT::Sandbox::User=root"
  $apt update
}
