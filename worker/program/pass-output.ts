import type { Readable, Writable } from "node:stream";

/**
 * Passes what a program says on to one of our own streams. A reader that has left (`| head -1`, a log shipper that died) is no
 * reason to end or to hold the program: from then on its words are read and dropped. While a reader is slow, so is the program.
 */
export function passOutput(from: Readable, to: Writable, onSaid: (chunk: Buffer) => void): void {
  let hasLeft = to.errored !== null || to.destroyed;
  const leave = () => {
    hasLeft = true;
    from.resume();
  };
  const goOn = () => void from.resume();
  to.once("error", leave);
  to.once("close", leave);
  from.on("data", (chunk: Buffer) => {
    onSaid(chunk);
    if (hasLeft || to.write(chunk)) return;
    from.pause();
    to.once("drain", goOn);
  });
  // The end of a pipe whose other side was killed is no fault of ours.
  from.on("error", () => undefined);
  from.once("close", () => {
    to.off("error", leave);
    to.off("close", leave);
    to.off("drain", goOn);
  });
}
