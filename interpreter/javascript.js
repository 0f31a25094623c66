// SPDX-License-Identifier: Apache-2.0
//
// Runs the cells of one context of JavaScript or TypeScript; README.md is the protocol. A cell is
// evaluated by V8's inspector as one line of a console is: names stay and may be declared anew, it
// may await, and the value of its last expression is its result.

const fs = require("fs");
const net = require("net");
const path = require("path");
const util = require("util");
const vm = require("vm");
const { Console } = require("console");
const { Session } = require("inspector");
const { Writable } = require("stream");
const { createRequire } = require("module");
const { pathToFileURL } = require("url");

const PIECE = 4032; // a whole frame is at most PIPE_BUF
const LARGEST = 5 << 20; // of a result; the server takes no more
const rewriteImports = new Function(__gloveboxText())();
delete globalThis.__gloveboxText;
delete globalThis.__gloveboxRead;

// Opened anew, where children don't get to; node can't copy descriptors.
const requests = fs.openSync("/proc/self/fd/0", "r");
const out = fs.openSync("/proc/self/fd/1", "w");
const err = fs.openSync("/proc/self/fd/2", "w");
fs.closeSync(0);
fs.openSync("/dev/null", "r"); // is 0

let mark = "";

function writeAll(fd, data) {
    for (let at = 0; at < data.length; ) {
        try {
            at += fs.writeSync(fd, data, at);
        } catch (e) {
            if (e.code !== "EAGAIN") throw e;
            Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
        }
    }
}

function send(fd, fields) {
    const data = Buffer.from(JSON.stringify(fields));
    for (let at = 0; at < data.length; at += PIECE) {
        const piece = data.subarray(at, at + PIECE);
        const isLast = at + PIECE >= data.length;
        const kind = at === 0 ? (isLast ? "=" : "<") : isLast ? ">" : "+";
        const size = piece.length.toString(16).padStart(4, "0");
        writeAll(fd, Buffer.concat([Buffer.from(`\x1b_${mark}${kind}${size}`), piece]));
    }
}

// ---- what cells see ----

function openStream(fd) {
    const stream = new Writable({
        decodeStrings: true,
        write(chunk, encoding, done) {
            try {
                writeAll(fd, chunk);
                done();
            } catch (e) {
                done(e);
            }
        },
    });
    stream.fd = fd;
    stream.isTTY = false;
    return stream;
}

for (const [name, fd] of [["stdout", 1], ["stderr", 2]])
    Object.defineProperty(process, name, { value: openStream(fd), configurable: true });
globalThis.console = new Console({ stdout: process.stdout, stderr: process.stderr });

const require_ = createRequire(path.join(process.cwd(), "cell.js"));
const isPath = (name) => /^(\.{0,2}\/)/.test(name);

function importModule(name, options) {
    if (isPath(name)) name = pathToFileURL(path.resolve(name)).href;
    else if (!/^(node|file|data):/.test(name)) {
        try {
            const found = require_.resolve(name);
            if (path.isAbsolute(found)) name = importTarget(name, found);
        } catch {
            // what is only there for import is found, or not, by import itself
        }
    }
    return import(name, options);
}

// A package may give another file to import than to require.
function importTarget(name, found) {
    const parent = pathToFileURL(path.join(process.cwd(), "cell.js")).href;
    try {
        return resolveForImport(name, parent);
    } catch {
        return pathToFileURL(found).href;
    }
}

function resolveForImport(name, parent) {
    const parts = name.split("/");
    const count = name.startsWith("@") ? 2 : 1;
    const [pack, inside] = [parts.slice(0, count).join("/"), parts.slice(count).join("/")];
    for (const folder of require_.resolve.paths(name) || []) {
        const file = path.join(folder, pack, "package.json");
        if (!fs.existsSync(file)) continue;
        const { exports, module } = JSON.parse(fs.readFileSync(file, "utf8"));
        let target = exports ? exports[inside ? "./" + inside : "."] || exports : module;
        while (target && typeof target === "object" && !Array.isArray(target))
            target = target.import || target.node || target.default;
        if (typeof target === "string") return pathToFileURL(path.join(folder, pack, target)).href;
        break;
    }
    throw new Error(`no target for ${parent}`);
}

// ---- results ----

const METHODS = [
    ["_toHtml", "html"],
    ["_toSvg", "svg"],
    ["_toPng", "png"],
    ["_toJpeg", "jpeg"],
    ["_toMarkdown", "markdown"],
    ["_toLatex", "latex"],
];

function formsOf(value) {
    const forms = {};
    for (const [method, key] of METHODS) {
        if (value && typeof value === "object" && typeof value[method] === "function")
            forms[key] = String(value[method]());
    }
    const text = typeof value === "string" ? util.inspect(value, { maxStringLength: Infinity }).slice(1, -1) : util.inspect(value);
    return { text, ...forms };
}

function publish(forms, isMain) {
    const fields = { type: "result", is_main_result: isMain, ...forms, extra: {} };
    if (Buffer.byteLength(JSON.stringify(fields)) > LARGEST) {
        process.stderr.write(`glovebox: a result is cut: it has at most ${LARGEST} bytes\n`);
        send(out, { type: "result", is_main_result: isMain, text: forms.text.slice(0, 65536) + "...", extra: {} });
    } else send(out, fields);
}

const hidden = { value: undefined };
Object.defineProperties(globalThis, {
    require: { value: require_, writable: true, configurable: true },
    __import: { value: importModule, writable: true, configurable: true },
    display: {
        value: (...values) => values.forEach((value) => publish(formsOf(value), false)),
        writable: true,
        configurable: true,
    },
});

function describe(error) {
    try {
        return describePlainly(error);
    } catch {
        const words = "an error that can't be shown: asking it for its name or message fails";
        return { type: "error", name: "Error", value: words, traceback: words };
    }
}

function describePlainly(error) {
    if (error === null || typeof error !== "object" || typeof error.name !== "string")
        return { type: "error", name: "Error", value: util.inspect(error), traceback: util.inspect(error) };
    const own = /new Promise \(<anonymous>\)$|node:|\[eval\]|evalmachine|<anonymous>:\d+:\d+\)?$/;
    const lines = String(error.stack || error).split("\n");
    const kept = lines.filter((line) => !/^\s+at /.test(line) || !own.test(line));
    return {
        type: "error",
        name: String(error.name),
        value: String(error.message),
        traceback: kept.join("\n").slice(0, 1 << 20),
    };
}

// ---- TypeScript ----

function loadFrom(name) {
    const folders = [process.cwd(), "/usr/lib/node_modules", "/usr/local/lib/node_modules", "/usr/share/nodejs"];
    try {
        return require_(require_.resolve(name, { paths: folders }));
    } catch {
        for (const folder of folders.slice(1)) {
            try {
                return require_(path.join(folder, name));
            } catch {
                // the next one
            }
        }
    }
    return null;
}

function fromTypeScript(text) {
    const { stripTypeScriptTypes } = require("module");
    if (stripTypeScriptTypes) return stripTypeScriptTypes(text, { mode: "transform" });
    const esbuild = loadFrom("esbuild");
    if (esbuild)
        return esbuild.transformSync(text, {
            loader: "ts",
            target: "esnext",
            tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
        }).code;
    const ts = loadFrom("typescript");
    if (ts)
        return ts.transpile(text, { target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true });
    throw new Error(
        `TypeScript needs node 22.13 or later, or the package esbuild or typescript; this image has node ${process.version} and neither`
    );
}

// ---- cells ----

const session = new Session();
session.connect();
let lastNumber = 0;
let interrupt = null; // of the cell that waits for something

class Interrupted extends Error {
    get name() {
        return "KeyboardInterrupt";
    }
}

// Sets hidden.value to what an object of the inspector is.
function unwrap(object) {
    if (!object.objectId) {
        if (object.unserializableValue !== undefined) return vm.runInThisContext(object.unserializableValue);
        return object.type === "undefined" ? undefined : object.value;
    }
    globalThis.__gloveboxHidden = hidden;
    session.post("Runtime.callFunctionOn", {
        functionDeclaration: "function () { __gloveboxHidden.value = this; }",
        objectId: object.objectId,
    });
    delete globalThis.__gloveboxHidden;
    session.post("Runtime.releaseObject", { objectId: object.objectId });
    const { value } = hidden;
    hidden.value = undefined;
    return value;
}

// SIGINT ends what waits. What never does is not ended by it: to stop V8 in the middle of an
// inspector's question leaves an inspector that answers no more.
function evaluate(text, number) {
    return new Promise((resolve, reject) => {
        interrupt = () => reject(new Interrupted("the cell was interrupted"));
        const expression = `${text}\n//# sourceURL=cell_${number}.js`;
        const came = (error, answer) => {
            if (error) reject(new Error(error.message));
            else if (answer.exceptionDetails) {
                const { exception, text: words } = answer.exceptionDetails;
                reject(exception ? unwrap(exception) : new Error(words));
            } else resolve(unwrap(answer.result));
        };
        session.post("Runtime.evaluate", { expression, replMode: true, awaitPromise: true }, came);
    });
}

async function runCell({ word, number, environment, text }) {
    const before = {};
    for (const [name, value] of Object.entries(environment)) {
        before[name] = process.env[name];
        process.env[name] = value;
    }
    try {
        const script = word === "typescript" ? fromTypeScript(text) : text;
        const value = await evaluate(rewriteImports(script), number);
        if (value !== undefined) publish(formsOf(value), true);
    } catch (e) {
        send(out, describe(e));
    } finally {
        interrupt = null;
        for (const [name, value] of Object.entries(before)) {
            if (value === undefined) delete process.env[name];
            else process.env[name] = value;
        }
    }
    finish();
}

function finish() {
    send(err, { type: "end", number: lastNumber });
    send(out, { type: "end", number: lastNumber });
}

process.on("SIGINT", () => interrupt && interrupt());
process.on("uncaughtException", (e) => process.stderr.write(`Uncaught ${describe(e).traceback}\n`));
process.on("unhandledRejection", (e) => process.stderr.write(`Uncaught (in promise) ${describe(e).traceback}\n`));

// ---- requests ----

let waiting = Buffer.alloc(0);

function* readRequests() {
    function* line() {
        for (;;) {
            const end = waiting.indexOf(10);
            if (end >= 0) {
                const text = waiting.toString("utf8", 0, end);
                waiting = waiting.subarray(end + 1);
                return text.split(" ");
            }
            yield null;
        }
    }
    function* bytes(size) {
        while (waiting.length < size + 1) yield null;
        const text = waiting.toString("utf8", 0, size);
        waiting = waiting.subarray(size + 1);
        return text;
    }
    for (;;) {
        const [word, newMark, number, count, size] = yield* line();
        const environment = {};
        for (let i = 0; i < Number(count); i++) {
            const [name, valueSize] = yield* line();
            environment[name] = yield* bytes(Number(valueSize));
        }
        const text = yield* bytes(Number(size));
        yield { word, mark: newMark, number: Number(number), environment, text };
    }
}

const input = new net.Socket({ fd: requests, readable: true, writable: false });
const reader = readRequests();
let isRunning = false;

async function runWaiting() {
    if (isRunning) return;
    isRunning = true;
    for (let cell; (cell = reader.next().value); ) {
        mark = cell.mark;
        if (cell.word === "nothing") {
            finish();
            continue;
        }
        lastNumber = cell.number;
        await runCell(cell);
    }
    isRunning = false;
}

input.on("data", (data) => {
    waiting = Buffer.concat([waiting, data]);
    runWaiting();
});
input.on("end", () => process.exit(0));
