import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { listGpus, readFacts, readGpuMemory } from "./facts.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-facts-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const none = () => join(folder, "none");

async function writeTool(script: string): Promise<void> {
  const path = join(folder, "nvidia-smi");
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
}

test("the driver's files name the cards", async () => {
  for (const card of ["0000:01:00.0", "0000:02:00.0"]) {
    await mkdir(join(folder, card));
    await writeFile(join(folder, card, "information"), "Model: \t\t NVIDIA H100\nIRQ: 1\n");
  }
  expect((await readFacts({ labels: [], machineId: null, cards: folder })).gpu).toBe("2 x NVIDIA H100");
});

test("without them its tool is asked, and sees nothing of our environment", async () => {
  await writeTool('echo "RTX 4090${TIDEMARK_TOKEN}${HOME}"');
  const facts = await readFacts({ labels: [], machineId: null, cards: none(), searchPath: folder });
  expect(facts.gpu).toBe("RTX 4090");
});

test("no card, a tool that fails, and no tool at all are all the same", async () => {
  const input = { labels: [], machineId: null, cards: none() };
  expect((await readFacts({ ...input, searchPath: folder })).gpu).toBeNull();
  await writeTool("echo 'NVIDIA-SMI has failed'; exit 9");
  expect((await readFacts({ ...input, searchPath: folder })).gpu).toBeNull();
  expect((await readFacts(input)).gpu).toBeNull();
});

test("a label wins, and the platform is two words", async () => {
  const facts = await readFacts({ labels: ["gpu=RTX 3090", "region=eu"], machineId: "m", cards: none() });
  expect(facts).toMatchObject({ gpu: "RTX 3090", labels: { gpu: "RTX 3090", region: "eu" }, machineId: "m" });
  expect(facts.platform).toMatch(/^[a-z0-9]+ [a-z0-9]+$/);
});

test("the memory of a machine is that of its largest card, and null where the driver does not tell it", async () => {
  expect(await readGpuMemory(folder, null)).toBeNull();
  await writeTool(
    '[ "$*" = "--query-gpu=memory.total --format=csv,noheader,nounits" ] && printf "24576\\n81559\\n[N/A]\\n"',
  );
  expect(await readGpuMemory(folder, null)).toBe(81_559 * 1_048_576);
  expect(await readGpuMemory(null, null)).toBeNull();
  await writeTool("echo '[N/A]'");
  expect(await readGpuMemory(folder, null)).toBeNull();
});

test("a worker that sees only some of the GPUs tells of these", async () => {
  await mkdir(join(folder, "0000:01:00.0"));
  await writeTool(
    'case "$*" in --id=1,GPU-ab*name*) echo L4;; --id=1,GPU-ab*memory*) echo 24576;; *memory*) echo 81559;; *index*) printf "0\\n1\\n2\\n";; esac',
  );
  const input = { labels: [], machineId: null, cards: folder, searchPath: folder };
  expect((await readFacts({ ...input, visibleGpus: "1, GPU-ab,-1,2" })).gpu).toBe("L4");
  expect((await readFacts({ ...input, visibleGpus: "" })).gpu).toBeNull();
  expect(await readGpuMemory(folder, "1,GPU-ab")).toBe(24_576 * 1_048_576);
  expect(await readGpuMemory(folder, "")).toBeNull();
  expect(await readGpuMemory(folder, "MIG-1")).toBe(81_559 * 1_048_576);
  expect(await listGpus(folder, "3,GPU-ab")).toEqual(["3", "GPU-ab"]);
  expect(await listGpus(folder, null)).toEqual(["0", "1", "2"]);
  expect(await listGpus(null, null)).toEqual([]);
});
