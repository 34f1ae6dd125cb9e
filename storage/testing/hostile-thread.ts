import { parentPort } from "node:worker_threads";

/** For tests: a thread that does what the name of the file says, in place of looking into it. */
parentPort?.on("message", ({ op, job, path }: { op: string; job: number; path: string }) => {
  if (op !== "inspect") return;
  parentPort?.postMessage({ job, op: "begun" });
  if (path === "loop") for (;;);
  if (path === "fill") {
    const held: unknown[] = [];
    for (;;) held.push(Array.from({ length: 10_000 }, (_, index) => ({ index })));
  }
  if (path === "exit") process.exit(3);
  if (path === "throw") throw new Error("no");
  parentPort?.postMessage({ job, op: "fault", fault: { code: "MALFORMED" } });
});
