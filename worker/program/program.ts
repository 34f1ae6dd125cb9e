import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, openSync, readSync } from "node:fs";
import { constants } from "node:os";
import type { Writable } from "node:stream";
import { Fault } from "#protocol/faults/fault.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import { codeOf } from "../base/disk-fault.ts";
import { createMask } from "./mask-output.ts";
import { passOutput } from "./pass-output.ts";

/** The training program. Its output goes to this process's streams. */
export interface Program {
  /** Null when the program could not be started; then `ended` rejects with the reason. */
  readonly pid: number | null;
  /** Resolves when the program has ended and its output was passed on. */
  readonly ended: Promise<ProgramEnd>;
  /** Sends a signal; does nothing after the end. */
  send(signal: NodeJS.Signals): void;
}

export interface ProgramEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** Returns the exit code as a shell does: 128 plus the number of the signal that ended the program. */
export const exitCodeOf = ({ code, signal }: ProgramEnd): number =>
  code ?? (signal === null ? 1 : 128 + constants.signals[signal]);

export interface ProgramOptions {
  env: Readonly<Record<string, string | undefined>>;
  /** Streams for its output. A terminal is inherited unless something is hidden or kept, and then `onSaid` gets no output. */
  out: Writable & { isTTY?: boolean };
  err: Writable & { isTTY?: boolean };
  onSaid(chunk: Buffer): void;
  /** Whether `onSaid` has to get the output, also where it goes to a terminal. */
  isKept?: boolean;
  /** Values that are replaced in its output. */
  hidden?: readonly string[];
  /** Whether the program gets its own session; otherwise it shares the terminal. */
  hasOwnSession: boolean;
  /** Working folder; the worker's own when left out. */
  cwd?: string;
}

/** Time to wait for further output of a descendant after the end of the program. */
const LAST_WORDS_MS = 1_000;

/** Starts a program. `ended` rejects with PROGRAM_NOT_FOUND or PROGRAM_NOT_EXECUTABLE when that fails. */
export function startProgram(command: readonly string[], options: ProgramOptions): Program {
  const { out, err, env, onSaid, hasOwnSession, cwd, isKept = false, hidden = [] } = options;
  const isPiped = isKept || hidden.length > 0;
  const [file = "", ...args] = command;
  const streams = [out, err].map((stream) => (stream.isTTY === true && !isPiped ? "inherit" : "pipe"));
  const child: ChildProcess = spawn(file, args, {
    stdio: ["inherit", streams[0] ?? "inherit", streams[1] ?? "inherit"],
    env: { ...env } as NodeJS.ProcessEnv,
    detached: hasOwnSession,
    ...(cwd !== undefined && { cwd }),
  });
  for (const [from, to] of [
    [child.stdout, out],
    [child.stderr, err],
  ] as const) {
    if (from !== null) passOutput(from, to, { onSaid, mask: createMask(hidden) });
  }
  const ended = new Promise<ProgramEnd>((resolve, reject) => {
    child.once("error", (error) => reject(startFault(error, file)));
    child.once("exit", (code, signal) => {
      child.once("close", () => resolve({ code, signal }));
      setTimeout(() => resolve({ code, signal }), LAST_WORDS_MS).unref();
    });
  });
  return {
    pid: child.pid ?? null,
    ended,
    send: (signal) => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    },
  };
}

function startFault(error: unknown, file: string): Fault {
  const code = codeOf(error);
  const interpreter = code === "ENOENT" ? interpreterOf(file) : null;
  if (interpreter !== null) {
    const why = interpreter.endsWith("\r") ? ", because its lines end as on Windows (CR LF)" : "";
    const detail = `its first line names the interpreter ${visibleText(interpreter)}, which is not there${why}`;
    return new Fault("PROGRAM_NOT_EXECUTABLE", { op: "run", subject: file, detail });
  }
  const isThere = code === "EACCES" || code === "ENOEXEC" || code === "EISDIR";
  return new Fault(isThere ? "PROGRAM_NOT_EXECUTABLE" : "PROGRAM_NOT_FOUND", {
    op: "run",
    subject: file,
    ...(code === null ? {} : { detail: code }),
  });
}

const MOST_LINE_BYTES = 256;

/** Returns the interpreter in the first line of a script given by a path; null for everything else. */
function interpreterOf(file: string): string | null {
  if (!file.includes("/")) return null;
  try {
    const fd = openSync(file, "r");
    try {
      const bytes = Buffer.alloc(MOST_LINE_BYTES);
      const [line = ""] = bytes.toString("latin1", 0, readSync(fd, bytes)).split("\n");
      return /^#! *([^ ]+)/.exec(line)?.[1] ?? null;
    } finally {
      closeSync(fd);
    }
  } catch {
    return null;
  }
}
