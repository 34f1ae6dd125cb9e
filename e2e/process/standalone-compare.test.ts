import { copyFileSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { PlacesCompared } from "#protocol/checkpoint/inspect.ts";
import { remoteInFile } from "../stage/keys-in-env.ts";
import { closeAlone, openAlone, type Alone } from "../stage/open-alone.ts";
import { runOnce } from "../stage/run-once.ts";
import { testedWorker } from "../stage/start-worker.ts";
import { readLog } from "../stage/store-control.ts";
import { writeSafetensors, type Tensor } from "../stage/write-checkpoint.ts";

/** `tidemark compare`: two checkpoints of a bucket, here of a remote of rclone, without a hub and without fetching them. */

const BIG = 2048;
const MIB = 1024 * 1024;
let alone: Alone;
let key: string;
beforeAll(async () => {
  alone = await openAlone();
  key = join(alone.dir, "key");
  expect(await asked("keygen", key)).toMatchObject({ code: 0 });
  const frozen = join(alone.dir, "frozen.safetensors");
  writeSafetensors(frozen, [{ name: "vision.weight", shape: [64, 64] }]);
  const write = (step: number, tensors: Tensor[]): string => {
    const path = join(alone.dir, `checkpoint-${step}`);
    mkdirSync(`${path}.part`);
    writeSafetensors(join(`${path}.part`, "model.safetensors"), tensors);
    copyFileSync(frozen, join(`${path}.part`, "frozen.safetensors"));
    writeFileSync(join(`${path}.part`, "config.json"), JSON.stringify({ model_type: "llama" }));
    if (step === 2) writeFileSync(join(`${path}.part`, "generation_config.json"), "{}");
    renameSync(`${path}.part`, path);
    return path;
  };
  const paths = [
    write(1, [
      { name: "embed.weight", shape: [BIG, BIG] },
      { name: "head.weight", shape: [4, 8] },
      { name: "lora.weight", shape: [8] },
    ]),
    write(2, [
      { name: "embed.weight", shape: [BIG, BIG] },
      { name: "head.weight", shape: [8, 8] },
      { name: "bias\u001b[31m", shape: [8] },
    ]),
  ];
  for (const [run, flags] of [
    ["plain", []],
    ["sealed", ["--encrypt-key", key, "--encrypt-names"]],
  ] as const) {
    for (const path of paths) {
      const args = ["save", path, "--run", run, "--to", place(), "--state", join(alone.dir, run), ...flags];
      const saved = await asked(...args);
      expect(saved, saved.stderr).toMatchObject({ code: 0 });
    }
  }
});
afterAll(() => closeAlone(alone));

const place = () => `rclone:lab:${alone.store.bucket}/ckpts`;
const asked = (...args: string[]) =>
  runOnce(testedWorker(), args, {
    env: { ...remoteInFile(alone.dir, alone.store), TIDEMARK_STATE: join(alone.dir, "state") },
  });
const compare = (...args: string[]) => asked("compare", ...args, "--to", place());
const facts = async (...args: string[]): Promise<PlacesCompared & Record<"from" | "to", object>> => {
  const { stdout, code } = await compare(...args, "--json");
  expect(code).toBe(6);
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as PlacesCompared & Record<"from" | "to", object>;
};

test("tells which tensors and files came, went and changed, and fetches only what describes them", async () => {
  const before = (await readLog(alone.store)).length;
  const shown = await compare("plain@1", "plain@2");
  const reads = (await readLog(alone.store)).slice(before);
  expect(shown).toMatchObject({ code: 6, stderr: "" });
  expect(shown.stdout).toContain("plain step 1 -> plain step 2");
  expect(shown.stdout).toContain("! head.weight  F32 [4, 8] -> F32 [8, 8]");
  expect(shown.stdout).toContain("~ embed.weight\n");
  expect(shown.stdout).toContain("- lora.weight  F32 [8]");
  expect(shown.stdout).toContain(String.raw`+ bias\u001b[31m  F32 [8]`);
  expect(shown.stdout).toContain("+ generation_config.json");
  expect(shown.stdout).toMatch(/Tensors: 1 the same, 4 not\./);
  expect(reads.reduce((sum, { sentBytes }) => sum + sentBytes, 0)).toBeLessThan(MIB);
  expect(reads.filter(({ receivedBytes }) => receivedBytes > 0)).toEqual([]);
});

test("says the same of encrypted checkpoints with their key, and which key is missing without it", async () => {
  const [plain, sealed] = [await facts("plain@1", "plain"), await facts("sealed@1", "sealed", "--encrypt-key", key)];
  expect(plain).toMatchObject({ same: 1, differs: ["embed.weight"], from: { step: 1 }, to: { run: "plain", step: 2 } });
  expect(plain.files).toMatchObject({ added: [{ path: "generation_config.json" }], same: 2 });
  const names = ({ added, removed, changed, differs, same }: PlacesCompared) => ({
    added,
    removed,
    changed,
    differs,
    same,
  });
  expect(names(sealed)).toEqual(names(plain));
  const locked = await compare("sealed@1", "sealed@2");
  expect(locked).toMatchObject({ code: 4, stderr: expect.stringContaining("--encrypt-key FILE") as string });
});

test("ends with 0 when nothing differs, and names what is not there", async () => {
  expect(await compare("plain@2", "plain")).toMatchObject({ code: 0 });
  const missing = await compare("plain@2", "plain@3");
  expect(missing).toMatchObject({
    code: 3,
    stderr: expect.stringContaining("no complete checkpoint of step 3") as string,
  });
  expect(await compare("plain@2")).toMatchObject({ code: 2 });
  expect(await asked("compare", "plain@1", "plain@2")).toMatchObject({ code: 2 });
});
