import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { z } from "zod";
import { ROOT } from "#e2e/stage/start-process.ts";
import { BenchError } from "../bench-error.ts";

const farEnd = z.object({ url: z.string(), ports: z.array(z.number()), profileId: z.string() });

/** Starts hub and store in the namespace of the far end; questions to them go over stdin and stdout. */
export async function startFarEnd(netns: string, address: string) {
  const child = spawn("nsenter", [`--net=${netns}`, process.execPath, "bench/browser/far-end.ts", address], {
    cwd: ROOT,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => {
    const { value, done } = await lines.next();
    if (done === true) throw new BenchError("The far end of the link has ended.");
    return JSON.parse(value) as unknown;
  };
  const place = farEnd.parse(await next());
  return {
    ...place,
    ask: async (question: object): Promise<unknown> => {
      child.stdin.write(`${JSON.stringify(question)}\n`);
      return z.object({ answer: z.unknown() }).parse(await next()).answer;
    },
    stop: async () => {
      const ended = new Promise((resolve) => child.once("close", resolve));
      child.stdin.end();
      await ended;
    },
  };
}
export type FarEnd = Awaited<ReturnType<typeof startFarEnd>>;
