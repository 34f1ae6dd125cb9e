import { buffer } from "node:stream/consumers";
import type { Readable } from "node:stream";
import { Fault, toFault } from "#protocol/faults/fault.ts";
import { READY } from "./driver.ts";
import { askedErrand, type ErrandAnswer } from "./asked-errand.ts";

/** Reads a benchmark's request from stdin, moves the file, and returns the outcome. Never throws. */
export async function serveErrand(input: Readable, say: (line: string) => Promise<void>): Promise<ErrandAnswer> {
  try {
    const asked = askedErrand.safeParse(JSON.parse((await buffer(input)).toString()));
    if (!asked.success) throw new Fault("BAD_INPUT", { op: "bench", detail: "this is asked by `tidemark bench` only" });
    if (asked.data.engine === "sdk") {
      // Imported here because only this engine needs the SDK, which takes longer to load than everything else.
      const { moveWithSdk } = await import("./sdk-reference.ts");
      await say(READY);
      await moveWithSdk(asked.data);
    } else {
      const { moveWithOwn } = await import("./move-with-own.ts");
      await say(READY);
      await moveWithOwn(asked.data);
    }
    return { type: "errand", fault: null };
  } catch (error) {
    return { type: "errand", fault: toFault(error, { op: "bench" }).toData() };
  }
}
