import { spawn, type ChildProcess } from "node:child_process";

/**
 * Tells a signal of the terminal from one that somebody sent to this process alone. A terminal sends Ctrl-C to all of the process
 * group, so the program beside us has it already; `kill -INT PID` reaches us alone and has to be passed on. Node does not say who
 * sent a signal. A process that does nothing stands in the group: when a signal ends it, the signal was for all.
 */
export interface GroupSentinel {
  /** Resolves to whether all of the group got this signal. */
  isForAll(signal: NodeJS.Signals): Promise<boolean>;
  close(): void;
}

/** Between the signal that reaches us and the end of the sentinel by the same one. */
const WITHIN_MS = 300;
const ENVIRONMENT: Record<string, string> = { PATH: "/usr/local/bin:/usr/bin:/bin" };

/** It reads from a pipe that nobody writes to, so it ends with us. Where there is none, every signal counts as one for all. */
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
