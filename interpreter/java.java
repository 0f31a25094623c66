// SPDX-License-Identifier: Apache-2.0
//
// Runs the cells of one context of Java; README.md is the protocol. A cell is taken apart into
// snippets, which JShell evaluates in this process, each in a thread of its own; the value of the
// last one is the result. In ASCII: the shell that reads it (java_boot.sh) counts characters.

import java.io.*;
import java.lang.reflect.Proxy;
import java.util.*;
import java.util.concurrent.Semaphore;
import jdk.jshell.*;
import jdk.jshell.SourceCodeAnalysis.Completeness;
import jdk.jshell.execution.LocalExecutionControlProvider;
import static java.nio.charset.StandardCharsets.UTF_8;

public class Glovebox {
    static final int PIECE = 4032; // a whole frame is at most PIPE_BUF
    static final int LARGEST = 5 << 20; // of a result; the server takes no more
    static final int CAUSES = 8, FRAMES = 100; // of an error
    static final String IMPORTS = "java.io java.math java.net java.nio.file java.util java.util.concurrent"
        + " java.util.function java.util.regex java.util.stream"; // as jshell begins with

    static InputStream requests;
    static OutputStream out, err;
    static String mark;
    static int number;
    static JShell shell;

    // ---- frames ----

    static String quote(String text) {
        var json = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\')
                json.append('\\').append(c);
            else if (c < 0x20)
                json.append(String.format("\\u%04x", (int) c));
            else
                json.append(c);
        }
        return json.append('"').toString();
    }

    static void send(OutputStream stream, String json) throws IOException {
        byte[] data = json.getBytes(UTF_8);
        for (int at = 0; at < data.length; at += PIECE) {
            int size = Math.min(PIECE, data.length - at);
            boolean isLast = at + size == data.length;
            char kind = at == 0 ? (isLast ? '=' : '<') : isLast ? '>' : '+';
            var frame = new ByteArrayOutputStream();
            frame.write(String.format("\033_%s%c%04x", mark, kind, size).getBytes(UTF_8));
            frame.write(data, at, size);
            stream.write(frame.toByteArray());
        }
    }

    static void sendError(String name, String value, String traceback) throws IOException {
        send(out, "{\"type\":\"error\",\"name\":" + quote(name) + ",\"value\":" + quote(value)
            + ",\"traceback\":" + quote(traceback) + "}");
    }

    static void sendResult(String text) throws IOException {
        String json = quote(text);
        if (json.getBytes(UTF_8).length > LARGEST) {
            System.err.println("glovebox: a result is cut: it has at most " + LARGEST + " bytes");
            json = quote(text.substring(0, Math.min(text.length(), 65536)) + "...");
        }
        send(out, "{\"type\":\"result\",\"is_main_result\":true,\"text\":" + json + ",\"extra\":{}}");
    }

    // ---- what cells see ----

    static class Nobody extends InputStream {
        public int read() {
            throw new UnsupportedOperationException(
                "System.in was read, and nobody is there to type: put the value into the code");
        }
    }

    static PrintStream ownOut = System.out, ownErr = System.err;

    /**
     * What is written is passed on at once: so it stays in order with what children write. New ones when
     * a cell was interrupted, since a thread that is stopped while it writes leaves words in the old ones.
     */
    static void openStreams() {
        if (System.out == ownOut)
            System.setOut(ownOut = new PrintStream(new FileOutputStream(FileDescriptor.out), true, UTF_8));
        if (System.err == ownErr)
            System.setErr(ownErr = new PrintStream(new FileOutputStream(FileDescriptor.err), true, UTF_8));
    }

    static Map<String, String> environment; // what System.getenv() tells

    /** For System.getenv() there is no other way than to change what it has read once. */
    @SuppressWarnings("unchecked")
    static void openEnvironment() throws ReflectiveOperationException {
        var field = System.getenv().getClass().getDeclaredField("m");
        field.setAccessible(true);
        environment = (Map<String, String>) field.get(System.getenv());
    }

    /** A variable is one of the environment, and a property, as E2B's interpreter has it. */
    static void setVariable(String name, String inEnvironment, String asProperty) {
        if (inEnvironment == null)
            environment.remove(name);
        else
            environment.put(name, inEnvironment);
        if (asProperty == null)
            System.clearProperty(name);
        else
            System.setProperty(name, asProperty);
    }

    // ---- errors ----

    /** Of a snippet: which cell it is of, and the line of the cell before it. */
    record Place(int cell, int lines) {
        static final Map<String, Place> known = new HashMap<>();

        String toString(int line) {
            return "cell_" + cell + ":" + (lines + line);
        }
    }

    static String describeFrame(StackTraceElement frame) {
        String file = frame.getFileName();
        Place place = file != null && file.startsWith("#") ? Place.known.get(file.substring(1)) : null;
        if (place == null)
            return "\n\tat " + frame;
        String where = frame.getClassName().isEmpty() ? "" : frame.getClassName() + ".";
        String method = frame.getMethodName();
        return "\n\tat " + (method.isEmpty() ? "" : where + method + " ") + "(" + place.toString(frame.getLineNumber()) + ")";
    }

    static String nameOf(Throwable e) {
        return e instanceof EvalException ? ((EvalException) e).getExceptionClassName() : e.getClass().getSimpleName();
    }

    static String valueOf(Throwable e) {
        if (e instanceof UnresolvedReferenceException)
            return describeMissing(((UnresolvedReferenceException) e).getSnippet());
        return e.getMessage() == null ? "" : e.getMessage();
    }

    static void describe(JShellException e) throws IOException {
        var trace = new StringBuilder();
        int count = 0;
        for (Throwable t = e; t != null && count < CAUSES; t = t.getCause(), count++) {
            String value = valueOf(t);
            trace.append(count > 0 ? "\nCaused by: " : "").append(nameOf(t)).append(value.isEmpty() ? "" : ": " + value);
            Arrays.stream(t.getStackTrace()).limit(FRAMES).forEach(frame -> trace.append(describeFrame(frame)));
        }
        sendError(nameOf(e), valueOf(e), trace.toString());
    }

    static void describeRejected(Snippet snippet, String source, Place place) throws IOException {
        var words = new StringBuilder();
        String first = null;
        for (Diag diag : (Iterable<Diag>) shell.diagnostics(snippet)::iterator) {
            if (!diag.isError())
                continue;
            String message = diag.getMessage(Locale.ENGLISH).replace("\r", "");
            int at = (int) Math.max(0, Math.min(diag.getPosition(), source.length()));
            int begin = source.lastIndexOf('\n', at - 1) + 1, end = source.indexOf('\n', at);
            int line = (int) source.substring(0, begin).lines().count() + 1;
            words.append(first == null ? "" : "\n").append(place.toString(line)).append(": error: ").append(message).append('\n')
                .append(source, begin, end < 0 ? source.length() : end).append('\n').append(" ".repeat(at - begin)).append('^');
            first = first == null ? message : first;
        }
        sendError("CompilationError", first == null ? "it can't be compiled" : first, words.toString());
    }

    static String describeMissing(DeclarationSnippet snippet) {
        return snippet.name() + " can't be used until there is "
            + String.join(", ", (Iterable<String>) shell.unresolvedDependencies(snippet)::iterator);
    }

    // ---- cells ----

    static volatile boolean isRunning, isInterrupted;

    /** A text or character is itself, without the quotes and escapes of jshell. */
    static String textOf(String value) {
        int end = value.length() - 1;
        boolean isQuoted = end > 0 && (value.startsWith("\"") && value.endsWith("\"")
            || value.startsWith("'") && value.endsWith("'"));
        if (!isQuoted)
            return value;
        try {
            return value.substring(1, end).translateEscapes();
        } catch (IllegalArgumentException e) { // it only looks like one
            return value;
        }
    }

    static void show(SnippetEvent event) throws IOException {
        var kind = event.snippet().subKind();
        if (kind != Snippet.SubKind.TEMP_VAR_EXPRESSION_SUBKIND && kind != Snippet.SubKind.VAR_VALUE_SUBKIND)
            return;
        if (event.value() == null)
            System.err.println("glovebox: the value is not shown, since its toString() has failed");
        else
            sendResult(textOf(event.value()));
    }

    /** Whether the next snippet of the cell may run. */
    static boolean hasGoneWell(SnippetEvent event, String source, Place place) throws IOException {
        if (isInterrupted)
            sendError("KeyboardInterrupt", "the cell was interrupted", "the cell was interrupted");
        else if (event.status() == Snippet.Status.REJECTED)
            describeRejected(event.snippet(), source, place);
        else if (event.exception() != null)
            describe(event.exception());
        else
            return true;
        return false;
    }

    static Place placeNow;

    static void runSnippets(String text) throws IOException {
        var analysis = shell.sourceCodeAnalysis();
        var declared = new ArrayList<DeclarationSnippet>();
        SnippetEvent last = null;
        for (String rest = text; ; ) {
            String stripped = rest.stripLeading();
            var info = analysis.analyzeCompletion(stripped);
            if (stripped.isEmpty() || info.completeness() == Completeness.EMPTY)
                break;
            int before = text.length() - stripped.length();
            placeNow = new Place(number, (int) text.substring(0, before).chars().filter(c -> c == '\n').count());
            String source = info.source() == null ? stripped : info.source();
            rest = info.source() == null ? "" : info.remaining();
            var events = shell.eval(source);
            if (events.isEmpty()) { // of a comment without end
                sendError("CompilationError", "it is no Java", placeNow.toString(1) + ": error: it is no Java");
                return;
            }
            last = events.get(0);
            if (!hasGoneWell(last, source, placeNow))
                return;
            if (last.snippet() instanceof DeclarationSnippet)
                declared.add((DeclarationSnippet) last.snippet());
        }
        for (var snippet : declared) {
            if (shell.status(snippet).isActive() && shell.unresolvedDependencies(snippet).findAny().isPresent())
                System.err.println(describeMissing(snippet));
        }
        if (last != null)
            show(last);
    }

    static void runCell(Map<String, String> variables, String text) throws IOException {
        var before = new HashMap<String, String[]>();
        variables.forEach((name, value) -> {
            before.put(name, new String[] {System.getenv(name), System.getProperty(name)});
            setVariable(name, value, value);
        });
        isInterrupted = false;
        isRunning = true;
        try {
            runSnippets(text);
        } catch (RuntimeException | Error e) { // of JShell, which is no match for every text
            sendError(e.getClass().getName(), "jshell can't take this cell: " + e.getMessage(), e.toString());
        } finally {
            isRunning = false;
            if (isInterrupted)
                openStreams();
            before.forEach((name, values) -> setVariable(name, values[0], values[1]));
        }
    }

    static void interrupt() {
        if (!isRunning)
            return;
        isInterrupted = true;
        shell.stop();
    }

    /** By their names only: the compiler has words about who uses these classes, which would be the first cell's. */
    static void handle(String name, Runnable then) throws ReflectiveOperationException {
        Class<?> signal = Class.forName("sun.misc.Signal"), handler = Class.forName("sun.misc.SignalHandler");
        Object own = Proxy.newProxyInstance(handler.getClassLoader(), new Class<?>[] {handler}, (proxy, method, args) -> {
            then.run();
            return null;
        });
        signal.getMethod("handle", signal, handler).invoke(null, signal.getConstructor(String.class).newInstance(name), own);
    }

    static final Semaphore passed = new Semaphore(0);

    /**
     * Interrupts that came before a cell must not end it. Java handles each signal in a thread that another
     * one starts, in the order of their numbers: when it has come to one of ours, with a higher number, the
     * threads of interrupts have all been started.
     */
    static void dropInterrupts() throws Exception {
        Class<?> signal = Class.forName("sun.misc.Signal");
        passed.drainPermits();
        signal.getMethod("raise", signal).invoke(null, signal.getConstructor(String.class).newInstance("WINCH"));
        passed.acquire();
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().equals("SIGINT handler"))
                thread.join();
        }
    }

    // ---- requests ----

    static byte[] readBytes(int size) throws IOException {
        byte[] data = requests.readNBytes(size);
        if (data.length < size)
            Runtime.getRuntime().halt(0);
        return data;
    }

    static String readText(String size) throws IOException {
        String text = new String(readBytes(Integer.parseInt(size)), UTF_8);
        readBytes(1);
        return text;
    }

    static String[] readWords() throws IOException {
        var line = new StringBuilder();
        for (int c; (c = readBytes(1)[0]) != '\n';)
            line.append((char) c);
        return line.toString().split(" ");
    }

    static void finish() throws IOException {
        send(err, "{\"type\":\"end\",\"number\":" + number + "}");
        send(out, "{\"type\":\"end\",\"number\":" + number + "}");
    }

    static void open() throws Exception {
        requests = new BufferedInputStream(new FileInputStream("/dev/fd/7"));
        out = new FileOutputStream("/dev/fd/8");
        err = new FileOutputStream("/dev/fd/9");
        openStreams();
        System.setIn(new Nobody());
        openEnvironment();
        System.getenv().forEach((name, value) -> System.getProperties().putIfAbsent(name, value));
        handle("INT", Glovebox::interrupt);
        handle("WINCH", passed::release);
        shell = JShell.builder().executionEngine(new LocalExecutionControlProvider(), Map.of()).idGenerator((snippet, i) -> {
            Place.known.put("" + i, placeNow);
            return "" + i;
        }).build();
        for (String name : IMPORTS.split(" "))
            shell.eval("import " + name + ".*;");
    }

    public static void main(String[] args) throws Exception {
        open();
        for (;;) {
            String[] words = readWords();
            mark = words[1];
            var variables = new HashMap<String, String>();
            for (int i = Integer.parseInt(words[3]); i > 0; i--) {
                String[] variable = readWords();
                variables.put(variable[0], readText(variable[1]));
            }
            String text = readText(words[4]);
            dropInterrupts();
            if (!words[0].equals("nothing")) {
                number = Integer.parseInt(words[2]);
                runCell(variables, text);
            }
            finish();
        }
    }
}
