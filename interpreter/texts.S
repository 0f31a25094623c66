// SPDX-License-Identifier: Apache-2.0
/* What texts.h declares. */
    .section .rodata

.macro text name, file
    .globl interpreter_\name, interpreter_\name\()_end
interpreter_\name:
    .incbin "\file"
interpreter_\name\()_end:
    .byte 0
.endm

    text python_boot, python_boot.py
    text python, python.py
    text python_rich, python_rich.py
    text python_trace, python_trace.py
    text python_figures, python_figures.py
    text python_ipython, python_ipython.py
    text javascript_boot, javascript_boot.js
    text javascript, javascript.js
    text javascript_scan, javascript_scan.js
    text bash_boot, bash_boot.sh
    text bash, bash.sh
    text r_boot, r_boot.sh
    text r, r.R
    text java_boot, java_boot.sh
    text java, java.java

    .section .note.GNU-stack, "", @progbits
