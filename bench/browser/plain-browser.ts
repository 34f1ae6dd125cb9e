import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import * as z from "zod";
import { BenchError } from "../bench-error.ts";
import type { BrowserProcess } from "./watch-memory.ts";

/**
 * A Chromium with one page, without an attached debugger. Playwright, like open developer tools, lets a page keep up to 10 MB
 * of each response that it reads, which is most of the memory of a page that reads files. Here it is only told what to open and
 * asked what it shows (DevTools protocol over a pipe).
 */
export interface PlainPage {
  /** Runs a script before everything else in each document. */
  beforeEach(script: () => void): Promise<void>;
  open(url: string): Promise<void>;
  /** Returns the value of an expression in the page, once it is settled. */
  ask(expression: string): Promise<unknown>;
  processes(): Promise<readonly BrowserProcess[]>;
  close(): Promise<void>;
}

interface PlainOptions {
  /** The program and its arguments. */
  command: readonly [string, ...string[]];
  profile: string;
  cookies: readonly { name: string; value: string; url: string }[];
}

const answer = z.object({
  id: z.number().optional(),
  result: z.record(z.string(), z.unknown()).optional(),
  error: z.object({ message: z.string() }).optional(),
});
const evaluated = z.object({
  result: z.object({ value: z.unknown() }),
  exceptionDetails: z.object({ text: z.string() }).optional(),
});
const processInfo = z.object({ processInfo: z.array(z.object({ id: z.number(), type: z.string() })) });

/** Returns a function that sends DevTools commands over the pipe; messages end with a zero byte. */
function openLine(into: Writable, from: Readable) {
  const waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  let asked = 0;
  let rest = "";
  from.setEncoding("utf8");
  from.on("data", (text: string) => {
    const messages = `${rest}${text}`.split("\0");
    rest = messages.pop() ?? "";
    for (const message of messages) {
      const { id, result, error } = answer.parse(JSON.parse(message));
      const waits = waiting.get(id ?? 0);
      waiting.delete(id ?? 0);
      if (error === undefined) waits?.resolve(result);
      else waits?.reject(new BenchError(`Chromium: ${error.message}`));
    }
  });
  from.on("close", () => {
    for (const { reject } of waiting.values()) reject(new BenchError("Chromium has ended."));
  });
  return (method: string, params: object, sessionId?: string): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const id = ++asked;
      waiting.set(id, { resolve, reject });
      into.write(`${JSON.stringify({ id, method, params, ...(sessionId !== undefined && { sessionId }) })}\0`);
    });
}

/** Starts Chromium. @throws BenchError when it does not start */
export async function openPlainPage({ command, profile, cookies }: PlainOptions): Promise<PlainPage> {
  const [program, ...args] = command;
  const flags = ["--headless", "--remote-debugging-pipe", `--user-data-dir=${profile}`, "--window-size=1280,800"];
  const child = spawn(program, [...args, ...flags, "about:blank"], {
    stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
  });
  const [, , , into, from] = child.stdio;
  if (into === null || from === null) throw new BenchError("Chromium gave no pipe.");
  const ended = once(child, "close");
  const send = openLine(into as Writable, from as Readable);
  await send("Storage.setCookies", { cookies });
  const { targetId } = z
    .object({ targetId: z.string() })
    .parse(await send("Target.createTarget", { url: "about:blank" }));
  const attached = await send("Target.attachToTarget", { targetId, flatten: true });
  const { sessionId } = z.object({ sessionId: z.string() }).parse(attached);
  await send("Page.enable", {}, sessionId);
  const ask = async (expression: string): Promise<unknown> => {
    const about = { expression, awaitPromise: true, returnByValue: true, userGesture: true };
    const { result, exceptionDetails } = evaluated.parse(await send("Runtime.evaluate", about, sessionId));
    if (exceptionDetails !== undefined) throw new BenchError(`In the page: ${exceptionDetails.text}`);
    return result.value;
  };
  return {
    beforeEach: async (script) => {
      await send("Page.addScriptToEvaluateOnNewDocument", { source: `(${script.toString()})()` }, sessionId);
    },
    open: async (url) => void (await send("Page.navigate", { url }, sessionId)),
    ask,
    processes: async () => processInfo.parse(await send("SystemInfo.getProcessInfo", {})).processInfo,
    close: async () => {
      await send("Browser.close", {}).catch(() => undefined);
      await ended;
    },
  };
}
