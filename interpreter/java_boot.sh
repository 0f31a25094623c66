# SPDX-License-Identifier: Apache-2.0
#
# Given to sh -c: has java compile and run java.java, which comes over standard input. Java wants a
# file, which has no name any more when it is read. Programs that cells start must not read what is
# meant for the driver: so it is descriptor 7, and what the driver says goes to 8 and 9.
fail() {
    echo "$1; use an image that has a JDK 17 or later (Debian: openjdk-17-jdk-headless)" >&2
    exit 127
}
java=$(command -v java) || fail "the image has no java"
java=$(readlink -f "$java")
[ -e "${java%/*}/jshell" ] || fail "the image's java has no jshell"
read -r size
file=$(mktemp) || exit 1
exec 5>"$file" 6<"$file"
rm "$file"
while [ "$size" -gt 0 ] && IFS= read -r line; do
    printf '%s\n' "$line" >&5
    size=$((size - ${#line} - 1))
done
exec "$java" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData --add-opens java.base/java.util=ALL-UNNAMED \
    --source 17 /dev/fd/6 5>&- 7<&0 8>&1 9>&2 </dev/null
