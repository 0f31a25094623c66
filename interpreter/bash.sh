# SPDX-License-Identifier: Apache-2.0
#
# Runs the cells of one Bash context in this shell; README.md is the protocol. What is the driver's
# begins with __glovebox_. A cell is sourced, not evaluated, so that an interrupt can return from it.

exec 250<&0 251>&1 252>&2 </dev/null
unset -f __glovebox_read
unset __glovebox_text __glovebox_size
__glovebox_mark=00000000000000000000000000000000
__glovebox_last=0

# DESCRIPTOR JSON: one frame, for which a piece is always enough
__glovebox_send() {
    local LC_ALL=C
    printf '\033_%s=%04x%s' "$__glovebox_mark" "${#2}" "$2" >&"$1"
}

__glovebox_read() { # SIZE, into __glovebox_text; and the newline behind it
    local LC_ALL=C rest
    __glovebox_text=
    [ "$1" = 0 ] || IFS= read -r -d '' -N "$1" -u 250 __glovebox_text || return
    IFS= read -r -u 250 rest
}

__glovebox_fail() { # STATUS WORDS
    __glovebox_send 251 '{"type":"error","name":"ExitStatus","value":"'"$1"'","traceback":"'"$2"'"}'
}

__glovebox_finish() { # STATUS
    [ "$1" = 0 ] || __glovebox_fail "$1" "status $1"
    __glovebox_send 252 '{"type":"end","number":'"$__glovebox_last"'}'
    __glovebox_send 251 '{"type":"end","number":'"$__glovebox_last"'}'
}

__glovebox_over() { # the cell ends the shell, and is over with it
    local status=$?
    [ "$BASHPID" = "$__glovebox_pid" ] || return
    trap - EXIT
    [ -z "$__glovebox_runs" ] ||
        __glovebox_fail "$status" "the cell ended its shell with status $status; what earlier cells made is lost"
}

__glovebox_set() { # NAME: to __glovebox_text
    if [ -n "${!1+is set}" ]; then
        __glovebox_before[$1]=${!1}
        [[ ${!1@a} = *x* ]] || __glovebox_local[$1]=1
    else
        __glovebox_unset+=("$1")
    fi
    export "$1=$__glovebox_text"
}

__glovebox_restore() {
    local name
    for name in "${!__glovebox_before[@]}"; do
        printf -v "$name" %s "${__glovebox_before[$name]}"
        [ -z "${__glovebox_local[$name]}" ] || export -n "${name?}"
    done
    [ "${#__glovebox_unset[@]}" = 0 ] || unset -v "${__glovebox_unset[@]}"
}

declare -A __glovebox_before __glovebox_local
declare -a __glovebox_unset
__glovebox_pid=$BASHPID
trap __glovebox_over EXIT
trap : INT

while read -r -u 250 __glovebox_word __glovebox_next __glovebox_number __glovebox_count __glovebox_size; do
    __glovebox_before=() __glovebox_local=() __glovebox_unset=()
    __glovebox_mark=$__glovebox_next
    while [ "$__glovebox_count" -gt 0 ]; do
        __glovebox_count=$((__glovebox_count - 1))
        read -r -u 250 __glovebox_name __glovebox_value_size
        __glovebox_read "$__glovebox_value_size" || exit
        __glovebox_set "$__glovebox_name"
    done
    __glovebox_read "$__glovebox_size" || exit
    if [ "$__glovebox_word" = nothing ]; then
        __glovebox_finish 0
        continue
    fi
    __glovebox_last=$__glovebox_number
    __glovebox_runs=1
    trap 'return 130' INT
    source /dev/fd/249 249<<<"$__glovebox_text"
    __glovebox_status=$?
    trap : INT
    __glovebox_runs=
    __glovebox_restore
    __glovebox_finish "$__glovebox_status"
done
trap - EXIT
