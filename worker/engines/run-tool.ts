import { spawn } from "node:child_process";
import { Fault } from "#protocol/faults/fault.ts";
import { codeOf } from "../base/disk-fault.ts";
import { READY, type ToolCommand, type ToolEnd } from "./driver.ts";
import { endOf, redact } from "./redact.ts";
import { memoryOfTree } from "./watch-memory.ts";

export interface ToolLimits {
  timeMs: number;
  memoryBytes: number;
  signal: AbortSignal;
  /** Texts to remove from the log. */
  secrets: readonly string[];
}

const LOOK_MS = 200;
const KEPT_CHARACTERS = 64 * 1024;
const LOG_CHARACTERS = 8 * 1024;
/** Time to wait, after the group is killed, for a process outside the group that keeps the pipes open. */
const LAST_WORDS_MS = 1_000;

/**
 * Runs a program to its end, within limits of time and memory. The program leads its own process group, which is always
 * killed as a whole: past a limit, on cancellation, and after the program's own exit, when children may be left.
 * @throws Fault PROGRAM_NOT_FOUND when it cannot be started.
 */
export async function runTool(command: ToolCommand, limits: ToolLimits): Promise<ToolEnd> {
  const startedAt = performance.now();
  const child = spawn(command.program, [...command.args], {
    env: { ...command.env } as NodeJS.ProcessEnv,
    cwd: command.env["HOME"] ?? "/",
    stdio: ["pipe", "pipe", "pipe"],
    detached: true,
  });
  const heard = { out: createEar(), all: createEar() };
  let readyMs: number | null = null;
  child.stdout.on("data", (chunk: Buffer) => {
    if (readyMs === null && chunk.toString().startsWith(READY)) readyMs = performance.now() - startedAt;
    heard.out.hear(chunk);
    heard.all.hear(chunk);
  });
  child.stderr.on("data", heard.all.hear);
  // EPIPE is no failure: a program need not read its stdin.
  child.stdin.on("error", () => undefined);
  child.stdin.end(command.stdin ?? "");

  let endedBy: ToolEnd["endedBy"] = "itself";
  const kill = (by: ToolEnd["endedBy"]) => {
    if (endedBy === "itself") endedBy = by;
    killGroup(child.pid);
  };
  const onAbort = () => kill("cancelled");
  limits.signal.addEventListener("abort", onAbort, { once: true });
  const late = setTimeout(() => kill("time"), limits.timeMs);
  const memory = watchMemory(child.pid, (bytes) => {
    if (bytes > limits.memoryBytes) kill("memory");
  });
  if (limits.signal.aborted) onAbort();
  try {
    const end = await new Promise<Pick<ToolEnd, "code" | "signal">>((resolve, reject) => {
      child.once("error", (error) =>
        reject(new Fault("PROGRAM_NOT_FOUND", { op: "bench", subject: command.program, detail: codeOf(error) ?? "" })),
      );
      child.once("exit", (code, signal) => {
        killGroup(child.pid);
        child.once("close", () => resolve({ code, signal }));
        setTimeout(() => resolve({ code, signal }), LAST_WORDS_MS).unref();
      });
    });
    const wallMs = performance.now() - startedAt;
    const [out, log] = [heard.out.said(), redact(heard.all.said(), limits.secrets).trim()];
    const logEnd = endOf(log, { most: LOG_CHARACTERS, isCut: false });
    return { ...end, endedBy, wallMs, readyMs, peakBytes: memory.peak(), out, log: logEnd };
  } finally {
    clearTimeout(late);
    memory.stop();
    limits.signal.removeEventListener("abort", onAbort);
  }
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // All processes of the group have ended.
  }
}

/** Keeps the end of a program's output. */
function createEar() {
  let text = "";
  let isCut = false;
  return {
    hear: (chunk: Buffer) => {
      text += chunk.toString();
      if (text.length <= 2 * KEPT_CHARACTERS) return;
      text = text.slice(-KEPT_CHARACTERS);
      isCut = true;
    },
    said: () => endOf(text, { most: 2 * KEPT_CHARACTERS, isCut }),
  };
}

function watchMemory(pid: number | undefined, onSeen: (bytes: number) => void) {
  let peak: number | null = null;
  let isOver = false;
  const look = async () => {
    const bytes = pid === undefined ? null : await memoryOfTree(pid);
    if (isOver) return;
    if (bytes !== null) {
      peak = Math.max(peak ?? 0, bytes);
      onSeen(bytes);
    }
    timer = setTimeout(() => void look(), LOOK_MS);
  };
  let timer = setTimeout(() => void look(), 0);
  return {
    peak: () => peak,
    stop: () => {
      isOver = true;
      clearTimeout(timer);
    },
  };
}
