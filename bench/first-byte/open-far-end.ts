import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { ROOT } from "#e2e/stage/start-process.ts";
import { BenchError } from "../bench-error.ts";
import { farEvent, type FarEvent } from "./timeline.ts";

export interface FarEnd {
  /** Takes the events since the last call. */
  events(): Promise<FarEvent[]>;
  [Symbol.asyncDispose]: () => Promise<void>;
}

/** Starts `far-end.ts` in a network namespace. @throws BenchError when it ends instead */
export async function openFarEnd(netns: string, given: unknown): Promise<FarEnd> {
  const args = [`--net=${netns}`, process.execPath, "bench/first-byte/far-end.ts", JSON.stringify(given)];
  const child = spawn("nsenter", args, { cwd: ROOT, stdio: ["pipe", "pipe", "inherit"] });
  const closed = once(child, "close");
  let seen: FarEvent[] = [];
  let onStep = Promise.withResolvers<void>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    const event = farEvent.parse(JSON.parse(line));
    if (event.kind === "ready" || event.kind === "mark") onStep.resolve();
    else seen.push(event);
  });
  const step = () =>
    Promise.race([onStep.promise, closed.then(() => Promise.reject(new BenchError("The far end ended.")))]);
  await step();
  return {
    events: async () => {
      onStep = Promise.withResolvers();
      child.stdin.write("\n");
      await step();
      const all = seen;
      seen = [];
      return all;
    },
    [Symbol.asyncDispose]: async () => {
      child.stdin.end();
      await closed;
    },
  };
}
