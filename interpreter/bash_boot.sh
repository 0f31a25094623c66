# SPDX-License-Identifier: Apache-2.0
#
# Given to bash -c: executes bash.sh, which comes over standard input.
__glovebox_read() { local LC_ALL=C; IFS= read -r -d '' -N "$1" -u 0 __glovebox_text; }
read -r __glovebox_size && __glovebox_read "$__glovebox_size" && eval "$__glovebox_text"
