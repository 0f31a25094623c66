// SPDX-License-Identifier: Apache-2.0
//
// Imports of modules in a cell. A cell is no module, so that its names stay; what is said in it by
// import is said by a call instead:
//
//     import a, { b as c } from "x"   ->   const { default: a, b: c } = await __import("x")
//     import("x")                     ->   __import("x")
//
// Found by reading tokens, so that nothing in strings, comments and patterns is taken for one. Part
// of javascript.js: a function's body that returns another.

const WORD = /[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/uy;
const NUMBER = /\d[\w.]*/y;
const SPACE = /(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/)+/y;
const STRING = /'(?:[^'\\\n]|\\[^])*'|"(?:[^"\\\n]|\\[^])*"/y;
const PATTERN = /\/(?![*/])(?:[^\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/\w*/y;
const BEFORE_A_PATTERN = new Set(
    "return typeof case do else in of instanceof new void delete throw yield await".split(" ")
);

// The end of a template that begins at `at`; whole expressions may stand in it.
function templateEnd(text, at) {
    for (at++; at < text.length; at++) {
        if (text[at] === "\\") at++;
        else if (text[at] === "`") return at + 1;
        else if (text[at] === "$" && text[at + 1] === "{") {
            let depth = 1;
            for (const token of tokens(text, at + 2)) {
                if (token.text === "{") depth++;
                if (token.text === "}" && --depth === 0) {
                    at = token.at;
                    break;
                }
            }
            if (depth !== 0) return text.length;
        }
    }
    return text.length;
}

function match(pattern, text, at) {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    return found && found[0];
}

function* tokens(text, at) {
    let before = ""; // the token before, which tells a division from a pattern
    while (at < text.length) {
        const space = match(SPACE, text, at);
        if (space) {
            at += space.length;
            continue;
        }
        const start = at;
        let kind = "word";
        let found = match(WORD, text, at);
        if (!found && (found = match(NUMBER, text, at))) kind = "number";
        if (!found && (found = match(STRING, text, at))) kind = "string";
        if (!found && text[at] === "`") {
            found = text.slice(at, templateEnd(text, at));
            kind = "template";
        }
        const isOperand = /[\w$)\]}"'`]$/.test(before) && !BEFORE_A_PATTERN.has(before);
        if (!found && !isOperand && (found = match(PATTERN, text, at))) kind = "pattern";
        if (!found) [kind, found] = ["sign", text[at]];
        at += found.length;
        before = found;
        yield { kind, text: found, at: start, end: at };
    }
}

// {a, b as c}: of an import -> of a pattern
const toPattern = (names) => names.replace(/([\w$]+|"[^"]*")\s+as\s+/g, "$1: ");

// The tokens behind `import` up to its string -> what stands for it, or null
function statement(text, list, first) {
    let i = first + 1;
    const last = list.findIndex((t, n) => n > first && t.kind === "string");
    if (last < 0 || last - first > 2000) return null;
    const call = `await __import(${list[last].text})`;
    if (last === i) return { end: last, code: call + ";" };
    if (list[last - 1].text !== "from") return null;
    let whole = null;
    const parts = [];
    if (list[i].kind === "word" && list[i].text !== "from") parts.push(`default: ${list[i++].text}`);
    if (list[i].text === ",") i++;
    if (list[i].text === "*") {
        whole = list[i + 2].text;
    } else if (list[i].text === "{") {
        const names = text.slice(list[i].end, list[last - 2].at).trim().replace(/,$/, "");
        if (names) parts.push(toPattern(names));
    }
    let code = whole ? `const ${whole} = ${call}` : `const { ${parts.join(", ")} } = ${call}`;
    if (whole && parts.length) code += `, { ${parts.join(", ")} } = ${whole}`;
    return { end: last, code: code + ";" };
}

return function rewriteImports(text) {
    if (!text.includes("import")) return text;
    const list = [...tokens(text, 0)];
    let made = "";
    let at = 0;
    for (let i = 0; i < list.length; i++) {
        const [token, next] = [list[i], list[i + 1]];
        if (token.text !== "import" || token.kind !== "word" || !next) continue;
        if (i > 0 && list[i - 1].text === ".") continue;
        if (next.text === "(") {
            made += text.slice(at, token.at) + "__import";
            at = token.end;
        } else if (next.text !== "." && next.text !== ":") {
            const found = statement(text, list, i);
            if (!found) continue;
            made += text.slice(at, token.at) + found.code;
            at = list[found.end].end;
            i = found.end;
            if (list[i + 1] && ["with", "assert"].includes(list[i + 1].text)) {
                while (list[i] && list[i].text !== "}") i++;
                at = list[i] ? list[i].end : text.length;
            }
        }
    }
    return made + text.slice(at);
};
