import type { Readable, Writable } from "node:stream";
import type { Mask } from "./mask-output.ts";

/**
 * Passes a program's output on to a stream of this process, with back-pressure from a slow reader. When the reader is gone
 * (`| head -1`, a dead log shipper), the output is read and dropped, so that the program neither ends nor blocks.
 */
export function passOutput(
  from: Readable,
  to: Writable,
  { onSaid, mask }: { onSaid: (chunk: Buffer) => void; mask: Mask },
): void {
  let hasLeft = to.errored !== null || to.destroyed;
  const leave = () => {
    hasLeft = true;
    from.resume();
  };
  const goOn = () => void from.resume();
  to.once("error", leave);
  to.once("close", leave);
  const pass = (chunk: Buffer): boolean => {
    if (chunk.length === 0) return true;
    onSaid(chunk);
    return hasLeft || to.write(chunk);
  };
  from.on("data", (chunk: Buffer) => {
    if (pass(mask.add(chunk))) return;
    from.pause();
    to.once("drain", goOn);
  });
  from.once("end", () => pass(mask.end()));
  // A read error after the program was killed is expected.
  from.on("error", () => undefined);
  from.once("close", () => {
    to.off("error", leave);
    to.off("close", leave);
    to.off("drain", goOn);
  });
}
