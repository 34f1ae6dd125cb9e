import { spawn, type ChildProcess } from "node:child_process";

/**
 * Distinguishes a signal of the terminal from one that was sent to this process alone. A terminal sends Ctrl-C to the whole
 * process group, so the program has got it already; `kill -INT PID` reaches this process alone and has to be passed on. Node
 * does not tell the sender of a signal. Therefore an idle process, the sentinel, is in the group: if it dies of the signal
 * too, the signal was for the group.
 */
export interface GroupSentinel {
  /** Resolves to true if the whole group got this signal. */
  isForAll(signal: NodeJS.Signals): Promise<boolean>;
  close(): void;
}

/** Longest time between a signal here and the end of the sentinel by the same signal. */
const WITHIN_MS = 300;
const ENVIRONMENT: Record<string, string> = { PATH: "/usr/local/bin:/usr/bin:/bin" };

/** Starts the sentinel. It reads an idle pipe, so it ends with this process. Without it every signal counts as the group's. */
export function startSentinel(program = "cat"): GroupSentinel {
  let child: ChildProcess | null = null;
  let isMissing = false;
  let isOver = false;
  let ended: { signal: NodeJS.Signals; at: number } | null = null;
  const waiting = new Set<(signal: NodeJS.Signals) => void>();
  const start = () => {
    child = spawn(program, [], { stdio: ["pipe", "ignore", "ignore"], env: { ...ENVIRONMENT } as NodeJS.ProcessEnv });
    child.on("error", () => {
      isMissing = true;
    });
    child.stdin?.on("error", () => undefined);
    child.once("exit", (_, signal) => {
      if (isOver || signal === null) return;
      ended = { signal, at: performance.now() };
      for (const tell of waiting) tell(signal);
      start();
    });
    child.unref();
  };
  start();
  return {
    isForAll: async (signal) => {
      if (isMissing) return true;
      if (ended !== null && ended.signal === signal && performance.now() - ended.at < WITHIN_MS) return true;
      return new Promise((resolve) => {
        const finish = (isForAll: boolean) => {
          clearTimeout(timer);
          waiting.delete(hear);
          resolve(isForAll);
        };
        const hear = (heard: NodeJS.Signals) => heard === signal && finish(true);
        const timer = setTimeout(finish, WITHIN_MS, false);
        waiting.add(hear);
      });
    },
    close: () => {
      isOver = true;
      child?.stdin?.end();
    },
  };
}
