import { execFile } from "node:child_process";
import { readFile, readdir } from "node:fs/promises";
import { arch, availableParallelism, hostname, platform, totalmem } from "node:os";
import { join } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";
import type { NodeFacts } from "#protocol/wire/hello.ts";
import { nodeName } from "#protocol/base/names.ts";
import { PRODUCT_VERSION } from "#protocol/base/version.ts";

export interface FactsInput {
  labels: readonly string[];
  machineId: string | null;
  /** PATH, to find nvidia-smi; null: the tool is not asked. */
  searchPath?: string | null;
  /** CUDA_VISIBLE_DEVICES of this worker; null: its programs see all GPUs. */
  visibleGpus?: string | null;
  /** Folder in which the driver has one folder per GPU; for tests. */
  cards?: string;
}

/** Reads facts by which people recognize this machine. `--label gpu=...` wins over the GPU that is found. */
export async function readFacts(input: FactsInput): Promise<NodeFacts> {
  const labels = readLabels(input.labels);
  return {
    hostname: hostname().slice(0, 255),
    platform: `${platform()} ${arch()}`.slice(0, 64),
    cpus: availableParallelism(),
    memoryBytes: totalmem(),
    gpu: labels["gpu"] ?? (await readGpus(input)),
    labels,
    machineId: input.machineId?.slice(0, 128) ?? null,
    workerVersion: PRODUCT_VERSION,
  };
}

async function readGpus({ cards = NVIDIA, searchPath = null, visibleGpus = null }: FactsInput): Promise<string | null> {
  const ids = idsOf(visibleGpus);
  if (ids?.length === 0) return null;
  // The driver's files do not say which of the GPUs are visible.
  const visible = ids === null ? null : await askDriver(searchPath, visibleGpus);
  return visible ?? (await readCards(cards)) ?? (await askDriver(searchPath, null));
}

/** Reads labels. @throws Fault BAD_INPUT for a label that is not `key=value`. */
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

/** Returns the name that this node asks the hub for. @throws Fault BAD_INPUT when a given name is not valid. */
export function requestedName(given: string | null): string {
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
/** A driver that hangs must not keep the worker from starting. */
const ASK_MS = 2_000;

const countOf = (models: readonly string[]): string | null => {
  const first = models[0];
  if (first === undefined) return null;
  return (models.length === 1 ? first : `${models.length} x ${first}`).slice(0, 128);
};

/** Returns `2 x NVIDIA H100`, or null. Reads the driver's files, so no program has to be started. */
async function readCards(folder: string): Promise<string | null> {
  const cards = await readdir(folder).catch(() => []);
  const models = cards.map(async (card) => {
    const text = await readFile(join(folder, card, "information"), "utf8").catch(() => "");
    return /^Model:\s*(.+)$/m.exec(text)?.[1]?.trim() ?? "NVIDIA GPU";
  });
  return countOf(await Promise.all(models));
}

/** Returns the GPUs that CUDA_VISIBLE_DEVICES names, up to the first that is none, as CUDA does; null: all. */
function idsOf(visible: string | null): string[] | null {
  if (visible === null) return null;
  const ids = visible.split(",").map((one) => one.trim());
  const end = ids.findIndex((one) => !/^(?:\d{1,4}|(?:GPU|MIG)-[\w./-]{1,128})$/.test(one));
  return end < 0 ? ids : ids.slice(0, end);
}

/**
 * Asks nvidia-smi, which may exist where the driver's files do not (a container, WSL). It gets only PATH of the environment.
 * Returns its lines; none when it fails.
 */
function queryDriver(
  query: string,
  { searchPath, visibleGpus }: { searchPath: string | null; visibleGpus: string | null },
): Promise<string[]> {
  const ids = idsOf(visibleGpus);
  if (searchPath === null || ids?.length === 0) return Promise.resolve([]);
  // The tool does not take the id of a part of a GPU (MIG).
  const chosen = ids === null || ids.some((one) => one.startsWith("MIG-")) ? [] : [`--id=${ids.join(",")}`];
  const env = { PATH: searchPath, NODE_ENV: "production" } as const;
  const options = { timeout: ASK_MS, killSignal: "SIGKILL", env, maxBuffer: 65_536 } as const;
  return new Promise((resolve) => {
    execFile(
      "nvidia-smi",
      [...chosen, `--query-gpu=${query}`, "--format=csv,noheader,nounits"],
      options,
      (error, stdout) => {
        const lines = error === null ? stdout.split("\n").map((line) => line.trim()) : [];
        resolve(lines.filter((line) => line !== ""));
      },
    );
  });
}

const askDriver = async (searchPath: string | null, visibleGpus: string | null): Promise<string | null> =>
  countOf(await queryDriver("name", { searchPath, visibleGpus }));

/** Returns the ids of the GPUs that programs of this worker see: those that its environment names, else the driver's indexes. */
export async function listGpus(searchPath: string | null, visibleGpus: string | null): Promise<string[]> {
  const indexes = async () =>
    (await queryDriver("index", { searchPath, visibleGpus })).filter((id) => /^\d+$/.test(id));
  return idsOf(visibleGpus) ?? (await indexes());
}

const MIB = 1_048_576;

/** Returns the largest memory of one GPU that programs of this worker see, in bytes; null without one, or when it is unknown. */
export async function readGpuMemory(searchPath: string | null, visibleGpus: string | null): Promise<number | null> {
  const lines = await queryDriver("memory.total", { searchPath, visibleGpus });
  const bytes = lines.filter((line) => /^\d{1,9}$/.test(line)).map((line) => Number(line) * MIB);
  return bytes.length === 0 ? null : Math.max(...bytes);
}
