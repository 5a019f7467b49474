// Child processes of the scripts, and how a signal reaches them.
//
// Owner of every child: this module. A child leads a group of its own, and a signal is sent to the
// whole group, because a test runner that is stopped alone leaves its workers behind. The script
// then waits for its children and ends with the code that shells give to that signal.

import { spawn } from "node:child_process";
import { constants } from "node:os";

/** Milliseconds that a program may take to end when it is asked to. */
const PATIENCE = 5_000;

const children = new Set();
let stoppedBy = null;

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => stop(signal));
}

function stop(signal) {
  // A second signal means that someone is out of patience.
  const sent = stoppedBy === null ? signal : "SIGKILL";
  stoppedBy ??= signal;
  for (const child of children) send(child, sent);
  if (children.size === 0) endAsStopped();
}

function send({ pid, group, attached }, signal) {
  // A terminal has already sent Ctrl-C to a child that shares our group; twice would look impatient.
  if (attached && signal === "SIGINT" && process.stdin.isTTY === true) return;
  try {
    process.kill(group ? -pid : pid, signal);
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

function endAsStopped() {
  process.exit(128 + constants.signals[stoppedBy]);
}

/**
 * Runs a program to its end. With `capture` its output is collected instead of shown, `printed` being
 * what it wrote to standard output alone, and `heard` is called with each piece of that; with
 * `attached` it shares our group and terminal, for programs that people talk to. When `until` aborts,
 * it is asked to end. A program that cannot be started is an answer with code 127, not an exception.
 */
export function run(command, args, options = {}) {
  const { capture = false, attached = false, env = process.env, cwd, shell = false } = options;
  const { until, heard } = options;
  const group = !attached && process.platform !== "win32";
  const stdio = capture ? ["ignore", "pipe", "pipe"] : "inherit";
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio, env, cwd, shell, detached: group });
    const entry = { pid: child.pid, group, attached };
    const output = [];
    const printed = [];
    let last;
    const end = () => {
      send(entry, "SIGTERM");
      last = setTimeout(() => send(entry, "SIGKILL"), PATIENCE);
    };
    const finish = (code, text) => {
      if (!children.delete(entry)) return;
      until?.removeEventListener("abort", end);
      clearTimeout(last);
      const said = { output: text ?? textOf(output), printed: textOf(printed) };
      if (stoppedBy === null) resolve({ code, ...said });
      else if (children.size === 0) endAsStopped();
    };
    children.add(entry);
    if (until?.aborted) end();
    else until?.addEventListener("abort", end);
    child.stdout?.on("data", (chunk) => {
      output.push(chunk);
      printed.push(chunk);
      heard?.(chunk.toString());
    });
    child.stderr?.on("data", (chunk) => output.push(chunk));
    child.on("error", (error) => finish(127, `${command}: ${error.message}\n`));
    child.on("close", (code) => finish(code ?? 1));
  });
}

function textOf(chunks) {
  return Buffer.concat(chunks).toString();
}
