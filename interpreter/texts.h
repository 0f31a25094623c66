// SPDX-License-Identifier: Apache-2.0
/*
 * The files of this folder as data of a program: each from interpreter_NAME to before
 * interpreter_NAME_end, where there is a NUL.
 */
#pragma once

#define INTERPRETER_TEXT(name) extern const char interpreter_##name[], interpreter_##name##_end[];
#define INTERPRETER_TEXTS(_) \
    _(python_boot) _(python) _(python_rich) _(python_trace) _(python_figures) _(python_ipython) \
    _(javascript_boot) _(javascript) _(javascript_scan) \
    _(bash_boot) _(bash) \
    _(r_boot) _(r) \
    _(java_boot) _(java)

INTERPRETER_TEXTS(INTERPRETER_TEXT)
