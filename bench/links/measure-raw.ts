import { spawn } from "node:child_process";
import type { BenchDirection } from "#protocol/benchmarks/engines.ts";
import { BenchError } from "../bench-error.ts";
import type { RawRun } from "./compare-rates.ts";
import { type EmulatedNode, type StoreName, STORES } from "./emulated-fleet.ts";

/** Measures plain TCP over the links of a fleet: the rate that each allows for these bytes and connections. */

export const RAW_PORT = 9001;
/** Nodes measured at a time: emulators on two cores carry about 600 Mbit/s. */
const AT_ONCE = 8;
const WAYS: readonly BenchDirection[] = ["up", "down"];

export interface RawAbout {
  program: string;
  nodes: readonly EmulatedNode[];
  /** Returns the namespace file of a node. */
  fileOf: (node: string) => string;
  addressOf: (store: StoreName) => string;
  bytes: number;
  connections: number;
}

/**
 * Measures every link once in both directions, a node's links one by one.
 * @throws BenchError when a link does not carry all bytes
 */
export async function measureRaw(about: RawAbout): Promise<RawRun[]> {
  const found: RawRun[] = [];
  const left = about.nodes.values();
  const lane = async (): Promise<void> => {
    for (const { name } of left) {
      for (const store of STORES) {
        for (const direction of WAYS) {
          const seconds = await moveOnce(about, { node: name, store, direction });
          found.push({ node: name, store, direction, seconds });
        }
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return found;
}

function moveOnce(about: RawAbout, { node, store, direction }: Omit<RawRun, "seconds">): Promise<number> {
  const { program, fileOf, addressOf, bytes, connections } = about;
  const what = [direction, addressOf(store), String(RAW_PORT), String(bytes), String(connections)];
  const startedAt = performance.now();
  const child = spawn("nsenter", [`--net=${fileOf(node)}`, program, ...what], { stdio: ["ignore", "ignore", "pipe"] });
  let words = "";
  child.stderr.on("data", (chunk: Buffer) => (words += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) resolve((performance.now() - startedAt) / 1000);
      else reject(new BenchError(`Plain TCP from ${node} to ${store} (${direction}) failed: ${words.trim()}`));
    });
  });
}
