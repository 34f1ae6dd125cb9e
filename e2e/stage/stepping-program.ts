import { appendFileSync, mkdirSync } from "node:fs";
import { request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { writeCheckpoint } from "./write-checkpoint.ts";

/**
 * A training program that speaks to its worker, run as `node stepping-program.ts FOLDER LOG UNTIL`: it says every step,
 * writes it to LOG when that was heard, and saves every tenth through the worker, before whose answer it does not go on.
 */
const [folder = "", log = "", until = "0"] = process.argv.slice(2);
const SAVE_EVERY = 10;

function ask(path: string, body: object): Promise<number> {
  const text = JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const options = { socketPath: process.env["TIDEMARK_SOCKET"], path, method: "POST" };
    const asking = request(options, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode ?? 0));
    });
    asking.on("error", reject);
    asking.end(text);
  });
}

mkdirSync(folder, { recursive: true });
let step = Number(process.env["TIDEMARK_RESUME_STEP"] ?? "") || 0;
console.log(`starts at ${step}`);
while (step < Number(until)) {
  await pause(5);
  step += 1;
  if ((await ask("/v1/step", { step })) !== 204) process.exit(44);
  appendFileSync(log, `${step}\n`);
  if (step % SAVE_EVERY !== 0) continue;
  const path = writeCheckpoint({ folder, step, modelBytes: 64 * 1024, optimizerBytes: 0, loss: 1 / step });
  if ((await ask("/v1/save", { path, step })) >= 300) process.exit(45);
  console.log(`saved ${step}`);
}
