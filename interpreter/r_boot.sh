# SPDX-License-Identifier: Apache-2.0
#
# Given to sh -c: has R execute r.R, which comes over standard input. What R is given as -e goes
# through a shell unquoted: it must be one line without characters that a shell makes names of.
# Programs that cells start must not read what is meant for the driver: so it is descriptor 7,
# and what the driver says goes to 8 and 9. Until R has its own way with SIGINT it is ignored.
command -v R >/dev/null || {
    echo "the image has no R; use one that has it (Debian: r-base-core)" >&2
    exit 127
}
trap '' INT
exec R --no-echo --no-save --no-restore -e 'local({i<-file("/dev/fd/7","rb",raw=TRUE);n<-"";while((c<-readChar(i,1L,TRUE))!="\n")n<-paste0(n,c);e<-new.env(parent=baseenv());e$requests<-i;eval(parse(text=readChar(i,as.integer(n),TRUE),keep.source=FALSE),e)})' 7<&0 8>&1 9>&2 </dev/null
