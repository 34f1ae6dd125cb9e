import { readFile, readdir } from "node:fs/promises";
import { availableParallelism, hostname, release, totalmem, type } from "node:os";
import { join } from "node:path";
import { Fault } from "#protocol/fault.ts";
import type { NodeFacts } from "#protocol/hello.ts";
import { nodeName } from "#protocol/names.ts";
import { PRODUCT_VERSION } from "#protocol/version.ts";

/** What this machine is, for people to recognise it by. */
export async function readFacts(input: { labels: readonly string[]; machineId: string | null }): Promise<NodeFacts> {
  return {
    hostname: hostname().slice(0, 255),
    platform: `${type()} ${release()}`.slice(0, 64),
    cpus: availableParallelism(),
    memoryBytes: totalmem(),
    gpu: await readGpu(),
    labels: readLabels(input.labels),
    machineId: input.machineId?.slice(0, 128) ?? null,
    workerVersion: PRODUCT_VERSION,
  };
}

/** @throws Fault BAD_INPUT for a label that is not `key=value`. */
function readLabels(texts: readonly string[]): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const text of texts) {
    const match = /^([^=]{1,32})=(.{0,128})$/s.exec(text);
    if (match?.[1] === undefined) {
      throw new Fault("BAD_INPUT", {
        op: "usage",
        subject: `--label ${text}`,
        detail: "a label looks like region=us-east",
      });
    }
    labels[match[1]] = match[2] ?? "";
  }
  return labels;
}

/** The name this node asks for. @throws Fault BAD_INPUT when a given one is not a name. */
export function wishedName(given: string | null): string {
  if (given !== null) {
    const parsed = nodeName.safeParse(given);
    if (!parsed.success) {
      throw new Fault("BAD_INPUT", {
        op: "usage",
        subject: `--name ${given}`,
        detail: parsed.error.issues[0]?.message ?? "not a name",
      });
    }
    return parsed.data;
  }
  const short = (hostname().split(".")[0] ?? "").replaceAll(/[^A-Za-z0-9._-]/g, "-").slice(0, 48);
  return /^[A-Za-z0-9]/.test(short) ? short : `node-${short}`.slice(0, 48);
}

const NVIDIA = "/proc/driver/nvidia/gpus";

/** `2 x NVIDIA H100`, or null. Read from the driver's own files: no program has to be started for it. */
async function readGpu(): Promise<string | null> {
  const folders = await readdir(NVIDIA).catch(() => []);
  const first = folders[0];
  if (first === undefined) return null;
  const text = await readFile(join(NVIDIA, first, "information"), "utf8").catch(() => "");
  const model = /^Model:\s*(.+)$/m.exec(text)?.[1]?.trim() ?? "NVIDIA GPU";
  return (folders.length === 1 ? model : `${folders.length} x ${model}`).slice(0, 128);
}
