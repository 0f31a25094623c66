# SPDX-License-Identifier: Apache-2.0
#
# Runs the cells of one context of R; README.md is the protocol. Evaluated by a line that R is given,
# in an environment of its own whose parent is that of package base: what cells define is not seen
# here. requests is the connection that the line has read this from.
#
# As at R's prompt each visible value of a cell is shown: each is a result, that of the last
# expression the main one. What is drawn becomes pictures when the cell is over.

PIECE <- 4032L # a whole frame is at most PIPE_BUF
LARGEST <- 5 * 2^20 # of a result; the server takes no more
ROWS <- 60L # of a table as HTML
COLUMNS <- 20L
mark <- ""
number <- 0L

# ---- frames ----

connections <- list("/dev/fd/7" = requests)

# A cell may close all connections, and open another under the number of one of these.
connection <- function(name, mode) {
    is_own <- function(c) identical(summary.connection(c)$description, name)
    if (!tryCatch(is_own(connections[[name]]), error = function(e) FALSE))
        connections[[name]] <<- file(name, mode, raw = TRUE)
    connections[[name]]
}

write_all <- function(fd, data) {
    to <- connection(paste0("/dev/fd/", fd), "wb")
    writeBin(data, to)
    flush(to) # what is at most PIPE_BUF is one write
}

send <- function(fd, json) {
    data <- charToRaw(json)
    size <- length(data)
    at <- 0L
    repeat {
        piece <- data[seq_len(min(PIECE, size - at)) + at]
        is_last <- at + length(piece) >= size
        kind <- if (at == 0L) if (is_last) "=" else "<" else if (is_last) ">" else "+"
        write_all(fd, c(charToRaw(sprintf("\033_%s%s%04x", mark, kind, length(piece))), piece))
        at <- at + length(piece)
        if (is_last) break
    }
}

to_text <- function(text) {
    text <- enc2utf8(paste(as.character(text), collapse = "\n"))
    if (!validUTF8(text)) text <- iconv(text, "UTF-8", "UTF-8", sub = "byte")
    if (is.na(text)) "NA" else text
}

to_json <- function(text) {
    text <- gsub("\\", "\\\\", to_text(text), fixed = TRUE)
    text <- gsub("\"", "\\\"", text, fixed = TRUE)
    for (code in intersect(unique(as.integer(charToRaw(text))), c(1:31, 127)))
        text <- gsub(intToUtf8(code), sprintf("\\u%04x", code), text, fixed = TRUE)
    paste0("\"", text, "\"")
}

# Of text that is JSON already.
to_object <- function(...) {
    fields <- c(...)
    paste0("{", paste0("\"", names(fields), "\":", fields, collapse = ","), "}")
}

LETTERS64 <- charToRaw("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")

to_base64 <- function(data) {
    missing <- -length(data) %% 3L
    bytes <- matrix(as.integer(c(data, raw(missing))), nrow = 3L)
    sixes <- rbind(
        bytes[1L, ] %/% 4L,
        bytes[1L, ] %% 4L * 16L + bytes[2L, ] %/% 16L,
        bytes[2L, ] %% 16L * 4L + bytes[3L, ] %/% 64L,
        bytes[3L, ] %% 64L
    )
    letters <- LETTERS64[sixes + 1L]
    if (missing > 0L) letters[length(letters) + 1L - seq_len(missing)] <- charToRaw("=")
    rawToChar(letters)
}

# ---- results ----

publish <- function(forms, is_main) {
    json <- if (sum(nchar(forms, "bytes")) <= LARGEST) vapply(forms, to_json, "")
    if (is.null(json) || sum(nchar(json, "bytes")) > LARGEST) {
        cat(sprintf("glovebox: a result is cut: it has at most %d bytes\n", LARGEST), file = base::stderr())
        json <- c(text = to_json(paste0(substr(forms["text"], 1L, 65536L), "...")))
    }
    send(8L, to_object(type = "\"result\"", is_main_result = if (is_main) "true" else "false", json, extra = "{}"))
}

printed <- function(value) {
    into <- rawConnection(raw(0), "wb")
    depth <- sink.number()
    sink(into)
    on.exit({
        while (sink.number() > depth) sink()
        close(into)
    })
    if (isS4(value)) methods::show(value) else print(value)
    text <- rawToChar(rawConnectionValue(into))
    sub("\n$", "", text)
}

escaped <- function(text) {
    text <- gsub("&", "&amp;", to_text_each(text), fixed = TRUE)
    text <- gsub("<", "&lt;", text, fixed = TRUE)
    gsub(">", "&gt;", text, fixed = TRUE)
}

to_text_each <- function(text) vapply(text, to_text, "", USE.NAMES = FALSE)

table_of <- function(value) {
    size <- dim(value)
    shown <- as.data.frame(value)[seq_len(min(size[1L], ROWS)), seq_len(min(size[2L], COLUMNS)), drop = FALSE]
    row <- function(tag, cells) paste0("<tr>", paste0("<", tag, ">", cells, "</", tag, ">", collapse = ""), "</tr>")
    cells <- lapply(shown, function(column) escaped(trimws(format(column))))
    heads <- row("th", c("", escaped(names(shown))))
    names <- paste0("<th>", escaped(row.names(shown)), "</th>")
    rows <- vapply(seq_len(nrow(shown)), function(i) {
        sub("<tr>", paste0("<tr>", names[i]), row("td", vapply(cells, `[`, "", i)), fixed = TRUE)
    }, "")
    paste0(
        "<table>\n<thead>\n", heads, "\n</thead>\n<tbody>\n", paste0(rows, "\n", collapse = ""), "</tbody>\n</table>\n<p>",
        size[1L], " rows, ", size[2L], " columns</p>"
    )
}

forms_of <- function(value) {
    forms <- c(text = to_text(printed(value)))
    if (is.data.frame(value)) {
        html <- tryCatch(table_of(value), error = function(e) NULL)
        if (!is.null(html)) forms["html"] <- html
    }
    forms
}

# What prints nothing, as what draws itself, is no result.
show <- function(value, is_main) {
    forms <- forms_of(value)
    if (forms["text"] != "") publish(forms, is_main)
}

# ---- pictures ----

pictures <- NULL # the folder of those of the cell that runs

open_device <- function(...) {
    if (is.null(pictures)) pictures <<- tempfile("glovebox-")
    dir.create(pictures, showWarnings = FALSE)
    if (!capabilities("png") || !capabilities("cairo")) {
        cat("glovebox: this R has no device for PNG, so what is drawn is not shown\n", file = base::stderr())
        return(grDevices::pdf(NULL))
    }
    grDevices::png(
        file.path(pictures, paste0(length(list.files(pictures)), "-%06d.png")),
        type = "cairo", units = "in", width = getOption("repr.plot.width", 7),
        height = getOption("repr.plot.height", 7), res = getOption("repr.plot.res", 120)
    )
    devices <<- c(devices, grDevices::dev.cur())
}

devices <- integer() # that were opened for pictures

show_pictures <- function() {
    if (is.null(pictures)) return(invisible())
    folder <- pictures
    pictures <<- NULL
    on.exit(unlink(folder, recursive = TRUE))
    open <- devices[devices %in% grDevices::dev.list()]
    devices <<- integer()
    for (device in open[names(open) == "png" | names(open) == ""]) grDevices::dev.off(device)
    for (name in sort(list.files(folder, full.names = TRUE))) {
        data <- readBin(name, "raw", file.size(name))
        publish(c(text = "<plot>", png = to_base64(data)), FALSE)
    }
}

# ---- what cells see ----

local({
    tools <- new.env()
    tools$readline <- function(prompt = "") {
        stop(structure(
            class = c("stdinNotImplementedError", "error", "condition"),
            list(message = "readline() was called, and nobody is there to type: put the value into the code", call = NULL)
        ))
    }
    tools$display <- function(value) show(value, FALSE)
    attach(tools, name = "glovebox", warn.conflicts = FALSE)
})

# ---- cells ----

to_line <- function(call) {
    lines <- deparse(call, width.cutoff = 100L, nlines = 2L)
    if (length(lines) > 1L) paste0(lines[1L], " ...") else lines
}

# The driver's own call of a cell's expression.
is_own <- function(call) {
    is.call(call) && identical(call[[1L]], quote(eval)) && length(call) > 1L && identical(call[[2L]], quote(expressions[i]))
}

describe <- function(condition, calls) {
    value <- to_text(conditionMessage(condition))
    call <- conditionCall(condition)
    head <- if (is.null(call) || is_own(call)) "Error: " else paste0("Error in ", to_line(call), ": ")
    lines <- vapply(calls, to_line, "")
    trace <- if (length(lines) > 0L) paste0("\nTraceback:\n", paste0(seq_along(lines), ". ", lines, collapse = "\n"))
    send_error(class(condition)[1L], value, paste0(head, value, trace))
}

send_error <- function(name, value, trace) {
    send(8L, to_object(type = "\"error\"", name = to_json(name), value = to_json(value), traceback = to_json(trace)))
}

run_expressions <- function(text) {
    source <- srcfilecopy(sprintf("<cell %d>", number), strsplit(text, "\n", fixed = TRUE)[[1L]])
    expressions <- tryCatch(
        parse(text = text, keep.source = TRUE, srcfile = source),
        error = function(e) {
            e$call <- NULL
            class(e) <- c("parseError", class(e))
            stop(e)
        }
    )
    for (i in seq_along(expressions)) {
        ran <- withVisible(eval(expressions[i], globalenv()))
        if (ran$visible) show(ran$value, i == length(expressions))
    }
}

# The calls of the cell, of all there are when an error is handled: without the driver's around
# them, and those of the handler at their end.
calls_of_cell <- function(calls) {
    begin <- Position(is_own, calls)
    if (is.na(begin)) return(list())
    calls <- calls[-c(seq_len(begin + 1L), length(calls))]
    last <- length(calls)
    if (last > 0L && identical(calls[[last]][[1L]], quote(.handleSimpleError))) calls <- calls[-last]
    utils::tail(calls, 50L)
}

# At R's prompt a warning does not name the prompt's own call.
warn_plainly <- function(warning) {
    if (!is_own(conditionCall(warning)) || !getOption("warn") %in% 0:1) return(invisible())
    cat("Warning: ", to_text(conditionMessage(warning)), "\n", sep = "", file = base::stderr())
    invokeRestart("muffleWarning")
}

run_safely <- function(text) {
    calls <- list()
    tryCatch(
        withRestarts(
            withCallingHandlers(
                allowInterrupts(run_expressions(text)),
                error = function(e) {
                    all <- sys.calls()
                    calls <<- tryCatch(calls_of_cell(all), error = function(e) list())
                },
                warning = warn_plainly
            ),
            abort = function() NULL
        ),
        error = function(e) describe(e, calls),
        interrupt = function(e) send_error("KeyboardInterrupt", "the cell was interrupted", "the cell was interrupted")
    )
}

run_cell <- function(variables, text) {
    before <- Sys.getenv(names(variables), unset = NA, names = TRUE)
    if (length(variables) > 0L) do.call(Sys.setenv, as.list(variables))
    run_safely(text)
    tryCatch(show_pictures(), error = function(e) describe(e, list()))
    Sys.unsetenv(names(before)[is.na(before)])
    if (!all(is.na(before))) do.call(Sys.setenv, as.list(before[!is.na(before)]))
}

# One that came when no cell ran is dropped.
drop_interrupt <- function() tryCatch(allowInterrupts(Sys.sleep(0.000001)), interrupt = function(e) NULL)

# ---- requests ----

read_bytes <- function(size) {
    data <- readBin(connection("/dev/fd/7", "rb"), "raw", size)
    if (length(data) < size) quit("no", 0L)
    data
}

read_text <- function(size) {
    text <- rawToChar(read_bytes(size))
    Encoding(text) <- "UTF-8"
    text
}

read_words <- function() {
    line <- raw()
    while ((byte <- read_bytes(1L)) != as.raw(10L)) line <- c(line, byte)
    strsplit(rawToChar(line), " ", fixed = TRUE)[[1L]]
}

read_variables <- function(count) {
    variables <- character()
    for (i in seq_len(count)) {
        words <- read_words()
        variables[words[1L]] <- read_text(as.integer(words[2L]))
        read_bytes(1L)
    }
    variables
}

finish <- function() {
    end <- to_object(type = "\"end\"", number = number)
    send(9L, end)
    send(8L, end)
}

serve <- function() {
    repeat {
        words <- read_words()
        mark <<- words[2L]
        variables <- read_variables(as.integer(words[4L]))
        text <- read_text(as.integer(words[5L]))
        read_bytes(1L)
        if (words[1L] != "nothing") {
            number <<- as.integer(words[3L])
            drop_interrupt()
            run_cell(variables, text)
        }
        finish()
    }
}

if (!l10n_info()[["UTF-8"]]) Sys.setlocale("LC_CTYPE", "C.UTF-8")
options(warn = 1, device = open_device, browserNLdisabled = TRUE)
suspendInterrupts(serve())
