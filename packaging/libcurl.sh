#!/bin/sh
# A static libcurl from Debian's source, for HTTP alone, and Debian's static c-ares, to link into static builds;
# nothing is installed.
#
# usage: packaging/libcurl.sh FOLDER [SYSROOT]     SYSROOT: for 64-bit Arm, by packaging/sysroot.sh
#
# FOLDER gets libcurl.a and libcares.a, their headers in include/ and texts in NAME.copyright, and packages.txt (name,
# version and file of each). A folder that has packages.txt is left as it is. Equal sources give equal bytes anywhere.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ -e "$1/packages.txt" ] && exit 0
mkdir -p "$1"
folder=$(cd "$1" && pwd)
work=$folder.apt
rm -rf "$work"
if [ $# -gt 1 ]; then
  architecture=arm64 host=aarch64-linux-gnu
  flags="-isystem $2/usr/include -isystem $2/usr/include/$host" libraries="-L$2/usr/lib/$host"
else
  architecture=$(dpkg --print-architecture) host=$(gcc -dumpmachine) flags='' libraries=''
fi
# shellcheck source=packaging/debian_lists.sh
. "$here/debian_lists.sh"
debian_lists "$work" "$architecture"
(cd "$work/archives" && $apt source --download-only curl && $apt download libc-ares-dev)
dpkg-source --no-check -x "$work"/archives/curl_*.dsc "$work/curl" > "$work/log"
dpkg-deb -x "$work"/archives/libc-ares-dev_*.deb "$work/cares"

cd "$work/curl"
# Debian's patches are newer than what is made of the files that they change.
touch aclocal.m4 configure
find . -name Makefile.in -exec touch {} +
# c-ares resolves names: a static C library cannot load the modules that its own functions need for that.
if ! {
  PKGCONFIG=no CC=$host-gcc CPPFLAGS="$flags -isystem $work/cares/usr/include" \
    LDFLAGS="-static $libraries -L$work/cares/usr/lib/$host" LIBS=-lpthread \
    CFLAGS="-O2 -fPIE -ffunction-sections -fdata-sections -ffile-prefix-map=$PWD=." \
    ./configure --build=x86_64-linux-gnu --host="$host" \
    --enable-static --disable-shared --disable-dependency-tracking --with-openssl --disable-openssl-auto-load-config \
    --enable-ares --without-ca-bundle --without-ca-path --without-zlib --without-brotli --without-zstd \
    --without-nghttp2 --without-libidn2 --without-libpsl --without-libssh2 --without-librtmp --without-libgsasl \
    --disable-ldap --disable-ldaps --disable-ftp --disable-file --disable-rtsp --disable-dict --disable-telnet \
    --disable-tftp --disable-pop3 --disable-imap --disable-smb --disable-smtp --disable-gopher --disable-mqtt \
    --disable-ntlm --disable-tls-srp --disable-unix-sockets --disable-cookies --disable-doh --disable-netrc \
    --disable-alt-svc --disable-hsts --disable-mime --disable-manual --disable-get-easy-options &&
    make -C lib -j "$(nproc)" libcurl.la
} > "$work/log" 2>&1; then
  tail -20 "$work/log" >&2
  exit 1
fi
mkdir -p "$folder/include"
cp -r include/curl "$work"/cares/usr/include/ares*.h "$folder/include"
cp lib/.libs/libcurl.a "$work/cares/usr/lib/$host/libcares.a" "$folder"
cp debian/copyright "$folder/curl.copyright"
cp "$work/cares/usr/share/doc/libc-ares-dev/copyright" "$folder/c-ares.copyright"
cd "$work/archives"
dsc=$(echo curl_*.dsc) deb=$(echo libc-ares-dev_*.deb)
{
  echo "curl $(sed -n 's/^Version: //p' "$dsc" | head -1) $dsc"
  echo "c-ares $(dpkg-deb -f "$deb" Version) $deb"
} > "$work/packages.txt"
mv "$work/packages.txt" "$folder/packages.txt"
cd "$folder"
rm -rf "$work"
