import { parentPort } from "node:worker_threads";

/** For tests: an inspector thread that misbehaves as the file's name says. */
parentPort?.on("message", ({ op, job, path }: { op: string; job: number; path: string }) => {
  if (op !== "inspect") return;
  parentPort?.postMessage({ job, op: "begun" });
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (name === "loop") for (;;);
  if (name === "fill") {
    const held: unknown[] = [];
    for (;;) held.push(Array.from({ length: 10_000 }, (_, index) => ({ index })));
  }
  if (name === "exit") process.exit(3);
  if (name === "throw") throw new Error("no");
  parentPort?.postMessage({ job, op: "fault", fault: { code: "MALFORMED" } });
});
